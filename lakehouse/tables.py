"""Former place of declarations; for one release."""

import lakehouse
from lakehouse import declarations
from lakehouse._moved import moved

_HERE = dict.fromkeys(declarations.__all__, "lakehouse.declarations")
_PUBLIC = {name: "lakehouse" for name in declarations.__all__ if name in lakehouse.__all__}
__getattr__ = moved(__name__, _HERE | _PUBLIC)
