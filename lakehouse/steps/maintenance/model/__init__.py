"""The values that all of maintenance shares: operation, state of a table, preconditions."""
