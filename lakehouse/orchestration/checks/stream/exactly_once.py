"""Exactly once: does every record that was read lie in exactly one table of its stream, once?"""

from collections.abc import Collection, Sequence

import dagster as dg

from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.proofs.audit import Finding, RangeProof, StreamProof
from lakehouse.quantities import quantity

NAME = "exactly_once"
DESCRIPTION = (
    "Every Kafka record that this stream has read is in exactly one of its tables, once. Proven from metadata: the "
    "seals (what each run said it did) follow one another without gap or overlap, and count, sum and sum of squares of "
    "the Kafka offsets in the table's files equal what the seals add up to. Where file statistics cannot decide, the "
    "offset columns are scanned; `decided by` says which. Before a run publishes it compares what it has read with "
    "what it had planned, and says why offsets brought no record."
)


def exactly_once_result(
    proof: StreamProof, table: str, key: dg.AssetKey, made: Collection[str] = ()
) -> dg.AssetCheckResult:
    """Tell one table's part of a stream's proof.

    Args:
        proof: of the stream.
        table: which of its tables.
        key: its asset.
        made: tables that were made like it, and that no check of their own is for.
    """
    # What is wrong with no table in particular is wrong with the stream, so with each of them.
    findings = [finding for finding in proof.findings if finding.table in ("", table, *made)]
    ranges = [proven for proven in proof.ranges if proven.table in (table, *made)]
    rows = sum(proven.rows for proven in ranges)
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=NAME,
        # What could not be proven is not proven.
        passed=not findings and not proof.errors,
        severity=dg.AssetCheckSeverity.ERROR,
        description=_describe(proof, table, findings, rows, made),
        metadata={
            "snapshot id": str(proof.snapshots.get(table, "none")),
            "ranges": _ranges(ranges),
            **({"findings": _findings(findings)} if findings else {}),
            "rows proven": rows,
            "records read by the stream": proof.read,
            "offsets without a record": proof.invisible,
            **({"why offsets have no record": proof.invisible_because} if proof.invisible else {}),
            "records accepted as lost": proof.lost,
            "records dropped by rule": dg.MetadataValue.json(proof.dropped),
            **({"losses": _losses(proof)} if proof.losses else {}),
            "seals": proof.seals,
            "oldest seal": proof.proven_from or "none yet",
            "seconds": round(proof.seconds, 3),
        },
    )


def _describe(
    proof: StreamProof, table: str, findings: Sequence[Finding], rows: int, made: Collection[str] = ()
) -> str:
    snapshot = proof.snapshots.get(table)
    if findings:
        more = f" And {len(findings) - 1} more, see the findings." if len(findings) > 1 else ""
        return f"A promise is broken in snapshot {snapshot}. {findings[0].message}{more}"
    if proof.errors:
        return f"Snapshot {snapshot} could not be proven. {' '.join(proof.errors)}"
    if snapshot is None:
        return "Nothing was ingested yet, so there is nothing to prove."
    if rows == 0:
        return f"Snapshot {snapshot} holds no rows, and by its seals it should hold none."
    but = f" but the {proof.lost:,} that somebody gave up" if proof.lost else ""
    without = f" Offsets without a record: {proof.invisible_because}." if proof.invisible else ""
    without += "".join(f" {absence}." for absence in proof.absent if absence.table == table)
    whose = f"snapshot {snapshot}" + (f", and of {quantity(len(made), 'table')} made like it," if made else "")
    return (
        f"All {rows:,} rows of {whose} are accounted for: no Kafka record is missing{but}, none is there "
        f"twice.{without}"
    )


def _ranges(ranges: Sequence[RangeProof]) -> dg.TableMetadataValue:
    columns = {"partition": "int", "first offset": "string", "read up to": "int", "rows": "int", "decided by": "string"}
    return rows_shown(
        columns, [(r.partition, "-" if r.first is None else str(r.first), r.end, r.rows, r.decided_by) for r in ranges]
    )


def _losses(proof: StreamProof) -> dg.TableMetadataValue:
    """The loss ledger."""
    columns = {"partition": "int", "offsets": "string", "reason": "string", "run": "string", "reached": "string"}
    return rows_shown(
        columns,
        [
            (p, f"[{start}, {end})", loss.reason, loss.run_id, "yes" if end <= proof.position.get(p, 0) else "not yet")
            for loss in proof.losses
            for p, spans in sorted(loss.ranges.items())
            for start, end in spans
        ],
    )


def _findings(findings: Sequence[Finding]) -> dg.TableMetadataValue:
    columns = {"kind": "string", "partition": "string", "offsets": "string", "what is wrong": "string"}
    return rows_shown(
        columns,
        [(f.kind, "-" if f.partition is None else str(f.partition), f.offsets or "-", f.message) for f in findings],
    )
