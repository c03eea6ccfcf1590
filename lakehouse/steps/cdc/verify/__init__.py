"""What a mirror proves of itself: counters, order, keys, contract, and every row against the replay."""
