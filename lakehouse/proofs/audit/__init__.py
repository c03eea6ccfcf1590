"""Proofs from outside: what the tables say about themselves against what they hold."""

from lakehouse.proofs.audit.proof import Finding, RangeProof, StreamProof
from lakehouse.proofs.audit.stream import audit_stream

__all__ = ["Finding", "RangeProof", "StreamProof", "audit_stream"]
