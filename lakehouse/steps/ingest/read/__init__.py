"""Reads as much of a plan as can be read, and names the first offset that cannot."""
