"""Removes files that no metadata knows, after two looks."""
