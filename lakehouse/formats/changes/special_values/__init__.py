"""Values that a column has no room for: how sources write them, and what becomes of them."""
