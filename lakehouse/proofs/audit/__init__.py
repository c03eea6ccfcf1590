"""Proofs from outside: what the tables say about themselves against what they hold."""

from lakehouse.proofs.audit.exactly_once import audit_stream
from lakehouse.proofs.audit.findings import Finding, FindingsDecide, RangeProof, StreamProof

__all__ = ["Finding", "FindingsDecide", "RangeProof", "StreamProof", "audit_stream"]
