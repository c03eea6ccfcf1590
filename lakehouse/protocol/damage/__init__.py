"""What is wrong with the files of a table, where something cannot be read."""
