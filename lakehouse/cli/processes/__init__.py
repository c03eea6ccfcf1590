"""Dagster's services and runs, started and watched by a command."""
