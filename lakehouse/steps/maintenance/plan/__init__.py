"""Decides what is due: pure functions of a measured state and a policy."""
