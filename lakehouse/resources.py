"""Former place of what assets ask for by name; for one release."""

from lakehouse._moved import moved

__getattr__ = moved(__name__)
