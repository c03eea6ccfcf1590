"""What a reader of Dagster's UI learns of a materialization: numbers, tables and small plots."""
