"""Where something was changed, and the finding that has to name the place."""

from dataclasses import dataclass

from lakehouse.proofs.audit import Finding, StreamProof
from lakehouse_tests.proofs.audit.document import Document


@dataclass(frozen=True)
class Place:
    """Where a finding points to."""

    table: str
    partition: int
    inside: tuple[int, int]

    def is_named(self, finding: Finding) -> bool:
        if (finding.table, finding.partition) != (self.table, self.partition) or not finding.offsets.startswith("["):
            return False
        start, end = map(int, finding.offsets.strip("[)").split(", "))
        return start <= self.inside[0] < self.inside[1] <= end


def broken(proof: StreamProof, kind: str, place: Place) -> Finding:
    """The finding of a kind at a place; there must be one."""
    assert not proof.holds
    found = [f for f in proof.findings if f.kind == kind and place.is_named(f)]
    assert found, [(f.kind, f.table, f.partition, f.offsets, f.message) for f in proof.findings]
    return found[0]


def kinds(proof: StreamProof) -> set[str]:
    return {finding.kind for finding in proof.findings}


def is_seal(snapshot: Document) -> bool:
    return "lakehouse.digest" in snapshot["summary"]
