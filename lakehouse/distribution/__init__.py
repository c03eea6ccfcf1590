"""How the values of a column are distributed: against its own history, against another table, and as a picture."""
