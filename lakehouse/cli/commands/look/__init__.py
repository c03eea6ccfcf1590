"""`status`, `tables`, `log`."""
