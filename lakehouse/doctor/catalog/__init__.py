"""The catalog and its storage: what is written of it, and what it answers."""
