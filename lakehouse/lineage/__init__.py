"""What a snapshot was made from: as declared, as sealed, as Spark read it; and whether all of it is of one vintage."""
