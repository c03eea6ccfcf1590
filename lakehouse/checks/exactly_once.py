"""Exactly once: does every record that was read lie in exactly one table of its stream, once?"""

from collections.abc import Sequence

import dagster as dg

from lakehouse.audit import Finding, RangeProof, StreamProof

NAME = "exactly_once"
DESCRIPTION = (
    "Every Kafka record that this stream has read is in exactly one of its tables, once. Proven from metadata: the "
    "seals (what each run said it did) follow one another without gap or overlap, and count, sum and sum of squares of "
    "the Kafka offsets in the table's files equal what the seals add up to. Where file statistics cannot decide, the "
    "offset columns are scanned; `decided by` says which."
)


def exactly_once_result(proof: StreamProof, table: str, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Tell one table's part of a stream's proof."""
    # What is wrong with no table in particular is wrong with the stream, so with each of them.
    findings = [finding for finding in proof.findings if finding.table in ("", table)]
    ranges = [proven for proven in proof.ranges if proven.table == table]
    rows = sum(proven.rows for proven in ranges)
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=NAME,
        passed=not findings,
        severity=dg.AssetCheckSeverity.ERROR,
        description=_told(proof, table, findings, rows),
        metadata={
            "snapshot id": str(proof.snapshots.get(table, "none")),
            "ranges": _ranges(ranges),
            **({"findings": _findings(findings)} if findings else {}),
            "rows proven": rows,
            "records read by the stream": proof.read,
            "offsets without a record": proof.invisible,
            "records accepted as lost": proof.lost,
            "seals": proof.seals,
            "oldest seal": proof.proven_from or "none yet",
            "seconds": round(proof.seconds, 3),
        },
    )


def _told(proof: StreamProof, table: str, findings: Sequence[Finding], rows: int) -> str:
    snapshot = proof.snapshots.get(table)
    if findings:
        more = f" And {len(findings) - 1} more, see the findings." if len(findings) > 1 else ""
        return f"A promise is broken in snapshot {snapshot}. {findings[0].message}{more}"
    if snapshot is None:
        return "Nothing was ingested yet, so there is nothing to prove."
    return (
        f"All {rows:,} rows of snapshot {snapshot} are accounted for: no Kafka record is missing, none is there twice."
    )


def _ranges(ranges: Sequence[RangeProof]) -> dg.TableMetadataValue:
    return dg.MetadataValue.table(
        [
            dg.TableRecord(
                {
                    "partition": proven.partition,
                    "first offset": "-" if proven.first is None else str(proven.first),
                    "read up to": proven.end,
                    "rows": proven.rows,
                    "decided by": proven.decided_by,
                }
            )
            for proven in ranges
        ]
    )


def _findings(findings: Sequence[Finding]) -> dg.TableMetadataValue:
    return dg.MetadataValue.table(
        [
            dg.TableRecord(
                {
                    "kind": finding.kind,
                    "partition": "-" if finding.partition is None else str(finding.partition),
                    "offsets": finding.offsets or "-",
                    "what is wrong": finding.message,
                }
            )
            for finding in findings
        ]
    )
