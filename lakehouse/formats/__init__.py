"""Bytes to columns: every record becomes a row, or gets a reason why not."""
