"""What a step of a derived table does: pin, agree, compute, trace, judge, seal, publish. No Dagster in here."""
