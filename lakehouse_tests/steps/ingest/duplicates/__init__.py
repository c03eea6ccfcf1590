"""Tests of dropped duplicates."""
