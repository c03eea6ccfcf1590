"""Proofs from outside: of streams by their seals, of derived tables by their lineage."""
