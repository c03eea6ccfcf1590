"""`status`, `tables`, `log`, `metrics`, `catalog`."""
