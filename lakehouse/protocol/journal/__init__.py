"""The audit log: who did what to which table, when, by what code; complete also when Dagster did not see it."""
