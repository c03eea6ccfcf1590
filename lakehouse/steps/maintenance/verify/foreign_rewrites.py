"""Commits of others that say of themselves that they only rearrange files: have they kept every row?

What reads a table takes a snapshot `replace` for the same rows in other files. Of our own rewrites that was proven
before they were published. One that somebody else has put on `main`, such as a compaction by another engine, is proven
in the same way here, as long as the snapshot before it is there.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from lakehouse.iceberg.claims.footer import false_claim
from lakehouse.iceberg.entries import is_data
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.audit import Finding, FindingsDecide
from lakehouse.protocol.commit import Replacement
from lakehouse.protocol.commit.relisting import Relisting
from lakehouse.protocol.damage.attempted import Attempted
from lakehouse.protocol.seals.foreign_rewrites import foreign_rewrites, recorded_rewrites, unproven_rewrites
from lakehouse.protocol.seals.history import head_of, listed_parent
from lakehouse.steps.maintenance.verify.proof import Prover, RowsDiffer


@dataclass(frozen=True)
class _Verdict:
    """Why a rewrite is not proven, and whether it is known to have changed rows; without a reason, it is proven."""

    why: str = ""
    changed: bool = False


_SAME = _Verdict()


@dataclass(frozen=True)
class RewritesProof(FindingsDecide):
    """The proof of the rewrites of one table that others have made.

    Args:
        proven: snapshots that hold the same rows as the ones before them.
        findings: those that do not.
        unproven: those of which nobody can say, in words, and why.
    """

    table: str
    proven: tuple[int, ...] = ()
    findings: tuple[Finding, ...] = ()
    unproven: tuple[str, ...] = ()


def audit_rewrites(table: Table, *, in_process: int) -> RewritesProof:
    """Prove every rewrite in the history of `main`, and of what tags keep, that did not come by our protocol.

    Args:
        table: as it was loaded.
        in_process: so many bytes of one rewrite are read, both sides together.
    """
    rewrites = dict.fromkeys(unproven_rewrites(table, head_of(table)))
    for ref in table.refs().values():
        if ref.snapshot_ref_type is SnapshotRefType.TAG:
            # A tag outlives the snapshots before its own, and a release was proven before it was made.
            for snapshot in foreign_rewrites(table, ref.snapshot_id):
                if listed_parent(table, snapshot.snapshot_id) is not None:
                    rewrites.setdefault(snapshot.snapshot_id)
    return prove_rewrites(table, rewrites, in_process)


def prove_release(table: Table, snapshot_id: int, released: Collection[int], *, in_process: int) -> RewritesProof:
    """Prove those rewrites that lead from what was released before to what is to be released.

    Args:
        table: as it was loaded.
        snapshot_id: is to be released.
        released: snapshots whose history was proven.
        in_process: so many bytes of one rewrite are read, both sides together.
    """
    listed = [snapshot.snapshot_id for snapshot in foreign_rewrites(table, snapshot_id, until=released)]
    recorded = recorded_rewrites(table, snapshot_id, until=released)
    return prove_rewrites(table, dict.fromkeys([*listed, *sorted(recorded)]), in_process)


def find_changed_rows(in_process: int, table: Table, snapshot_id: int, released: Collection[int]) -> list[str]:
    """What `prove_release` finds, in words: with its first argument given, what a release asks of each member."""
    return [finding.message for finding in prove_release(table, snapshot_id, released, in_process=in_process).findings]


def prove_rewrites(table: Table, rewrites: Iterable[int], in_process: int) -> RewritesProof:
    """Prove some rewrites.

    Args:
        table: as it was loaded.
        rewrites: their snapshots, whose entries may have gone.
        in_process: so many bytes of one rewrite are read, both sides together.
    """
    name = table_name(table)
    proven: list[int] = []
    findings: list[Finding] = []
    unproven: list[str] = []
    attempted = Attempted()
    for snapshot_id in rewrites:
        which = f"{name}: snapshot {snapshot_id}, a rewrite from outside the protocol,"
        if (snapshot := table.metadata.snapshot_by_id(snapshot_id)) is None:
            unproven.append(f"{which} is not proven to hold the same rows as the one before it: its entry has expired.")
            continue
        snapshots = [(table, snapshot_id), (table, snapshot.parent_snapshot_id)]
        verdict = attempted.part(which, snapshots, partial(_judged, table, snapshot, in_process), None)
        if verdict == _SAME:
            proven.append(snapshot_id)
        elif verdict is not None and verdict.changed:
            message = f"{which} does not hold the same rows as the one before it ({verdict.why})."
            findings.append(Finding("rewrite_changed_rows", message, name))
        elif verdict is not None:
            unproven.append(f"{which} is not proven to hold the same rows as the one before it: {verdict.why}.")
    findings += [Finding.of(damage) for damage in attempted.damages if damage.lost]
    return RewritesProof(name, tuple(proven), tuple(findings), (*unproven, *attempted.errors))


def _judged(table: Table, snapshot: Snapshot, in_process: int) -> _Verdict:
    if (before := listed_parent(table, snapshot.snapshot_id)) is None:
        return _Verdict("the entry of that one has expired")
    relisting = Relisting.between(table, before, snapshot.snapshot_id)
    suspects = (*relisting.new_claims(), *relisting.new_files())
    if difference := relisting.difference() or false_claim(table, suspects):
        return _Verdict(difference, changed=True)
    replacement = Replacement.between(table, before, snapshot.snapshot_id)
    if any(not is_data(entry.data_file) for entry in replacement.into):
        return _Verdict("it wrote delete files")
    # The value of a partition is told nowhere: its column may be a sensitive one.
    prover = Prover(table, snapshot.snapshot_id, None, in_process, named=lambda _: "a partition")
    if reason := prover.needs_spark(replacement):
        return _Verdict(reason)
    try:
        prover.prove(replacement)
    except RowsDiffer as differ:
        return _Verdict(differ.what, changed=True)
    return _SAME
