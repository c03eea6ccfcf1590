"""`status`, `tables`, `log`, `catalog`."""
