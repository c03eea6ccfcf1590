"""`accept-loss`, `adopt`, `reprocess`, `rebuild`."""
