"""Rewrites data files, manifests and statistics, on a branch."""
