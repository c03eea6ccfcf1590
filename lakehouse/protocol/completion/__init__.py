"""Publishes that stopped half-way, on a catalog that changes one table after another: completed by the next run."""
