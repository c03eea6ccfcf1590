"""Is every record of a topic once in a table that somebody else writes: the Connect sink, Flink, Structured Streaming?

Nothing of ours is in such a table, so its rows are compared with the topic itself.
"""

from lakehouse.proofs.foreign.audit import ForeignQuestion, audit_foreign
from lakehouse.proofs.foreign.coordinate_columns import ColumnNames
from lakehouse.proofs.foreign.proof import ForeignFinding, ForeignProof

__all__ = ["ColumnNames", "ForeignFinding", "ForeignProof", "ForeignQuestion", "audit_foreign"]
