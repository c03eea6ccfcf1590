"""What steps have pinned: while they read, and what is left of those that have ended."""
