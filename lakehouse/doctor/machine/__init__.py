"""This machine, and the servers that it has to reach."""
