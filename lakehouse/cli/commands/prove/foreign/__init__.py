"""`lakehouse audit --foreign`: tables that somebody else writes."""
