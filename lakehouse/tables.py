"""Former place of declarations; for one release."""

from lakehouse._moved import moved

__getattr__ = moved(__name__)
