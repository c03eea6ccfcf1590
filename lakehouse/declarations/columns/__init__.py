"""Columns: names, types in three tongues, kinds."""
