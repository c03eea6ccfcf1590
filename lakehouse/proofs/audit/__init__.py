"""Proofs from outside: what the tables say about themselves against what they hold."""

from lakehouse.proofs.audit.proof import Finding, FindingsDecide, RangeProof, StreamProof
from lakehouse.proofs.audit.stream import audit_stream

__all__ = ["Finding", "FindingsDecide", "RangeProof", "StreamProof", "audit_stream"]
