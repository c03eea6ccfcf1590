"""What was decided before and came of it: `lakehouse.maintenance`."""
