"""Manifests and lists of them: read quickly, looked at before they are decoded, and counted by what they add."""
