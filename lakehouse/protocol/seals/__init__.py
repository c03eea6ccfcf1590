"""What a branch says of itself: seals, who wrote them, history, and what no seal covers."""
