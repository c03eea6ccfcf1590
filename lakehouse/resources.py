"""Former place of what assets ask for by name; for one release."""

import lakehouse
from lakehouse._moved import moved
from lakehouse.orchestration import resources

_HERE = dict.fromkeys(resources.__all__, "lakehouse.orchestration.resources")
_PUBLIC = {name: "lakehouse" for name in resources.__all__ if name in lakehouse.__all__}
__getattr__ = moved(__name__, _HERE | _PUBLIC)
