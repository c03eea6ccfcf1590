"""Flattened records: of tools that put a row and what tells of its change side by side."""
