"""The tables that the lakehouse writes about all others."""
