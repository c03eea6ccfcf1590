"""A catalog in an SQL database: its own commits, of all tables of a step in one transaction."""
