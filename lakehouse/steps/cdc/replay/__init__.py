"""The fold once more, by polars and another way: what the check compares a mirror with."""
