"""Former place of reading several tables at one moment; for one release."""

from lakehouse._moved import moved

__getattr__ = moved(__name__)
