"""The checks of contract rules over stored tables: rows, keys, references, number of rows."""
