"""Proves that a rewrite holds the same rows."""
