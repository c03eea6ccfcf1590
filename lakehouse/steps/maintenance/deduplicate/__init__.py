"""Removes rows that are there twice, in closed partitions."""
