"""Which decoder reads a record, and which table takes it."""
