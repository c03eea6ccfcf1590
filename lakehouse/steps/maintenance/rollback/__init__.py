"""Setting tables that one step writes back to a seal that they share, or forward again."""
