"""The difference between a declaration and its table, as a plan; and carrying it out."""
