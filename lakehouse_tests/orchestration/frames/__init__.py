"""Frames that plain assets return and take."""
