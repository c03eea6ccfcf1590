"""How a delta gets into a mirror, and that it did."""
