"""Exactly once, proven for one stream: seals against each other, seals against what the tables hold.

The proof has three legs. The chain: each seal begins where the one before ended, and its totals add up. The siblings:
all tables of the stream say the same. The holdings: per table and partition, count, sum and sum of squares of the
offsets in the live files equal the sealed totals.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from lakehouse.engines.kafka.statement import WITHOUT_RECORD, KafkaStatement
from lakehouse.engines.kafka.tally import Tally, over_tables
from lakehouse.proofs.audit.absence import progress
from lakehouse.proofs.audit.accounted_tables import former_tables, judge_missing
from lakehouse.proofs.audit.chain import Link, read_chain
from lakehouse.proofs.audit.chain_findings import judge_chain
from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION, TOPIC
from lakehouse.proofs.audit.findings import Finding, RangeProof, StreamProof
from lakehouse.proofs.audit.missing_offsets import name_places
from lakehouse.proofs.audit.siblings import group_absences, judge_siblings
from lakehouse.proofs.audit.stored_offsets import StoredRows, holdings
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.damage.attempted import Attempted
from lakehouse.protocol.seals.history import Sealed
from lakehouse.protocol.seals.partial_group import absence, read_partial_group
from lakehouse.protocol.seals.read_group import Pinned


def audit_stream(catalog: LakeCatalog, stream: str, tables: Sequence[str], *, scan: bool = False) -> StreamProof:
    """Prove that every record of a stream is in exactly one of its tables, once.

    Args:
        catalog: where the tables live.
        stream: name of the stream, for the report.
        tables: all of its tables, quarantine included.
        scan: read the coordinates of every file, also where manifests could decide.

    A table that cannot be loaded keeps no other from being judged. What was taken out of the declaration and holds
    records of the stream is judged with them.
    """
    started = time.monotonic()
    loaded = read_partial_group(catalog, tables)
    group = loaded.tables
    chains = {name: read_chain(pinned.table, pinned.snapshot_id) for name, pinned in group.items()}
    findings = [finding for _, chain_findings in chains.values() for finding in chain_findings]
    findings += list(judge_siblings({name: links for name, (links, _) in chains.items()}, group))
    # Seals are the same in every table of the stream; of those that have come as far, the longest chain tells most.
    links = max((links for links, _ in chains.values() if links), key=_reach, default=[])
    for name, (table_links, _) in chains.items():
        findings += [f for f in judge_chain(name, table_links) if f not in findings]
    former = read_partial_group(catalog, former_tables(links, tables))
    holding = {**group, **former.tables}
    findings += (
        column_findings := list(_judge_columns(holding, many=bool(links) and links[-1].statement.numbers.many))
    )
    provable = {
        name: pinned for name, pinned in holding.items() if name not in {finding.table for finding in column_findings}
    }
    ranges, differing = [], set[tuple[str, int]]()
    attempted = Attempted()
    for name, pinned in provable.items():
        take_stock = partial(_take_stock, name, pinned, links, scan=scan)
        repeated, compared = attempted.part(
            f"what {name} holds", [(pinned.table, pinned.snapshot_id)], take_stock, ([], [])
        )
        findings += repeated
        ranges += [proof for proof, agrees in compared if agrees]
        differing |= {(name, proof.partition) for proof, agrees in compared if not agrees}
    if differing:
        heads = [(pinned.table, pinned.snapshot_id) for pinned in provable.values()]
        name_offsets = partial(_differing_offsets, provable, differing, links)
        findings += attempted.part(f"{stream}: which offsets differ", heads, name_offsets, _unnamed(differing))
    findings += [Finding.of(damage) for damage in attempted.damages if damage.lost]
    gone = list(judge_missing((*loaded.missing, *former.missing), links))
    damages = (*loaded.damages, *former.damages)
    findings += [*gone, *map(Finding.of, damages)]
    never_made = tuple(name for name in loaded.missing if name not in {finding.table for finding in gone})
    proof = _report(stream, group, links, findings, ranges, time.monotonic() - started)
    absent = tuple(group_absences({name: table_links for name, (table_links, _) in chains.items()}))
    return replace(
        proof,
        absent=absent,
        missing=never_made,
        errors=(*attempted.errors, *map(absence, never_made)),
    )


def _differing_offsets(
    group: Mapping[str, Pinned], differing: set[tuple[str, int]], links: Sequence[Link]
) -> list[Finding]:
    return list(name_places(group, differing, links))


def _unnamed(differing: set[tuple[str, int]]) -> list[Finding]:
    """What differs, where a file keeps from naming the offsets."""
    reason = "the table does not hold what its seals account for, and which offsets differ cannot be told"
    return [Finding("rows_differ", f"{name}: {reason}.", name, partition) for name, partition in sorted(differing)]


def _take_stock(
    name: str, pinned: Pinned, links: Sequence[Link], *, scan: bool
) -> tuple[list[Finding], list[tuple[RangeProof, bool]]]:
    """Compare what a table holds with the sealed totals; where manifests would say no, a scan has the last word."""
    totals = links[-1].statement.expected.get(name, {}) if links else {}
    numbers = links[-1].statement.numbers if links else None
    stock = holdings(pinned.table, pinned.snapshot_id, numbers, scan=scan)
    compared = list(_compare(name, totals, stock.partitions, links))
    if not scan and not all(agrees for _, agrees in compared):
        # Adopted rows may lie as densely as ours without being each offset once.
        stock = holdings(pinned.table, pinned.snapshot_id, numbers, scan=True)
        compared = list(_compare(name, totals, stock.partitions, links))
    repeated = list(_judge_without(name, stock.without, links))
    # Files by their names alone, as in the proof of files: the folders of a path may show a partition's value.
    repeated += [
        Finding("duplicate_file", f"{name}: data file {_file(path)} is in the table {times} times.", name)
        for path, times in stock.repeated_files.items()
    ]
    repeated += [
        Finding("missing_file", f"{name}: data file {_file(path)} is in the table, and not in storage.", name)
        for path in sorted(stock.missing_files)
    ]
    repeated += [
        Finding("unreadable_file", f"{name}: data file {_file(path)} cannot be read ({reason}).", name)
        for path, reason in sorted(stock.unreadable_files.items())
    ]
    return repeated, compared


def _file(path: str) -> str:
    return path.rpartition("/")[2]


def _judge_without(name: str, rows: int, links: Sequence[Link]) -> Iterator[Finding]:
    """Rows without coordinates are as many as a person has adopted from another writer."""
    sealed = links[-1].statement.without_coordinates.get(name, 0) if links else 0
    if rows != sealed:
        message = f"{name} holds {rows:,} rows without Kafka coordinates, and its seals account for {sealed:,}."
        yield Finding("rows_differ", message, name)


def _judge_columns(group: Mapping[str, Pinned], *, many: bool) -> Iterator[Finding]:
    """Without its coordinate columns a table cannot say which records it holds."""
    for name, pinned in group.items():
        wanted = (TOPIC, PARTITION, OFFSET) if many else (PARTITION, OFFSET)
        missing = [column for column in wanted if column not in pinned.table.schema().column_names]
        if missing:
            message = f"{name} lacks {' and '.join(missing)}, so nothing tells which records it holds."
            yield Finding("no_coordinates", message, name)


def _reach(links: Sequence[Link]) -> tuple[int, int, int]:
    return *progress(links[-1].statement), len(links)


def _compare(
    name: str, sealed: Mapping[int, Tally], stored: Mapping[int, StoredRows], links: Sequence[Link]
) -> Iterator[tuple[RangeProof, bool]]:
    end = links[-1].statement.end if links else {}
    for partition in sorted({*sealed, *stored}):
        stock = stored.get(partition, StoredRows())
        proof = RangeProof(name, partition, stock.first, end.get(partition, 0), stock.tally.count, stock.decided_by)
        yield proof, stock.tally == sealed.get(partition, Tally())


def _report(
    stream: str,
    group: Mapping[str, Pinned],
    links: Sequence[Link],
    findings: Sequence[Finding],
    ranges: Sequence[RangeProof],
    seconds: float,
) -> StreamProof:
    last: KafkaStatement | None = links[-1].statement if links else None
    oldest = links[0].sealed if links else None
    adopted = "".join(f"; rows adopted by {_describe(link.sealed)}" for link in links if link.kind == "adopt")
    return StreamProof(
        stream=stream,
        findings=tuple(findings),
        ranges=tuple(ranges),
        position=dict(last.end) if last else {},
        read=last.total_counts.read if last else 0,
        removed={name: last.removed_rows(name) for name in last.retired} if last else {},
        dropped=last.dropped if last else {},
        lost=last.total_counts.lost if last else 0,
        losses=last.losses if last else (),
        invisible=_invisible(last) if last else 0,
        invisible_because=_because(links, _invisible(last)) if last else "",
        proven_from=f"{_describe(oldest)}{adopted}" if oldest else "",
        seals=len(links),
        snapshots={name: pinned.snapshot_id for name, pinned in group.items() if pinned.snapshot_id is not None},
        seconds=round(seconds, 3),
    )


def _describe(sealed: Sealed) -> str:
    return f"run {sealed.seal.run_id}, {datetime.fromtimestamp(sealed.timestamp_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _invisible(last: KafkaStatement) -> int:
    if not last.origin:
        return 0
    tallied = over_tables(last.totals)
    return sum(end - last.origin.get(p, end) - tallied.get(p, Tally()).count for p, end in last.end.items())


def _because(links: Sequence[Link], invisible: int) -> str:
    """Why so many offsets have no record: in the words of the runs that found them."""
    offsets_by_reason: dict[str, int] = {}
    for link in links:
        offsets = sum((link.statement.without_record or {}).values())
        if offsets and link.kind == "ingest":  # others repeat what a run before them said
            offsets_by_reason[link.statement.because] = offsets_by_reason.get(link.statement.because, 0) + offsets
    unsaid = invisible - sum(offsets_by_reason.values())
    texts = [f"{count:,}: {WITHOUT_RECORD.get(reason, reason)}" for reason, count in offsets_by_reason.items()]
    return "; ".join([*texts, f"{unsaid:,}: the seals that are left do not say"] if unsaid > 0 else texts)
