"""What commands print of what Dagster recorded."""
