"""Measures a table from its metadata alone."""
