"""The tags of a release: its own, which nobody moves, and the one that follows the pointer."""
