"""Which snapshots go, who needs which of them, and that no other goes."""
