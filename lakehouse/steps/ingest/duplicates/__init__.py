"""Records that are in their table already, by a key: found with Spark, dropped before they are staged, counted."""
