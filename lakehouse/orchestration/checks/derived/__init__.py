"""The checks of a derived table: runtime date, lineage, vintage."""
