"""Former place of the runtime date of a run; for one release."""

from lakehouse._moved import moved

__getattr__ = moved(__name__)
