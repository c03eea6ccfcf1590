"""Reference pages that are written from the code: commands, declarations, checks, settings, rooms, mechanisms.

`.venv/bin/python -m lakehouse_tests.reference` writes them all.
"""
