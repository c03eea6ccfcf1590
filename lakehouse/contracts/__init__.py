"""What rows have to be (`rules`), and how their values are distributed (`profile`)."""
