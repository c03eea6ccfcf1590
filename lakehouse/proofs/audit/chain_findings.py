"""What a chain of seals has to keep: no gap, no overlap, and totals that add up.

Two kinds of seal begin something new, because a person said so with `--yes`. `new_epoch`: offsets begin anew, in
another topic or cluster; totals go on and then cover several logs. `adopt`: the totals are what a scan found in the
tables at that time, not what earlier seals add up to; commits from outside the protocol that lie before it are
accounted for by it, and the proof says by whose run. What an adopted row once was in Kafka, nobody can prove.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from lakehouse import seal_keys
from lakehouse.engines.kafka.loss_ledger import is_accepted
from lakehouse.engines.kafka.statement import COPIES, DROPPED, LOST, NO_TABLES, WITHOUT_RECORD, KafkaStatement
from lakehouse.engines.kafka.tally import Tally, added, over_tables
from lakehouse.proofs.audit.absence import as_if_present, joined
from lakehouse.proofs.audit.chain import KIND_DEDUPLICATE, KIND_NEW_EPOCH, KIND_REPROCESS, Link, rebases_totals
from lakehouse.proofs.audit.findings import Finding


def judge_chain(name: str, links: Sequence[Link]) -> Iterator[Finding]:
    """Compare every seal with the one before it, and with itself."""
    for link in links:
        yield from _judge_balance(name, link)
        yield from _judge_lost(name, link)
        yield from _judge_dropped(name, link)
        yield from _judge_moved(name, link)
    for previous, current in pairwise(links):
        yield from _judge_step(name, previous, current)


def _judge_step(name: str, previous: Link, current: Link) -> Iterator[Finding]:
    run = current.sealed.seal.run_id
    if current.sealed.seal.previous != previous.sealed.seal.digest:
        yield Finding("chain_broken", f"{name}: the seal of run {run} does not follow on the one before it.", name)
    if current.kind == "maintenance":
        if current.statement != previous.statement:
            yield Finding("balance", f"{name}: run {run} maintains the table, and changes what its seals say.", name)
        return
    if (missed := joined(current.sealed.seal.statement)) is not None:
        reprocesses = current.kind == KIND_REPROCESS
        stand_in = as_if_present(name, previous.statement, current.statement, missed, reprocesses=reprocesses)
        previous = Link(previous.sealed, stand_in)
    if not rebases_totals(current):
        yield from _judge_offsets(name, previous.statement, current.statement, run)
    yield from _judge_ledger(name, previous, current)
    if current.kind == "adopt":
        return
    yield from _judge_retired(name, previous, current)
    yield from _judge_reprocessed(name, previous, current)
    expected = added(previous.statement.totals, current.statement.tallies)
    for table, partition in _differences(expected, current.statement.totals):
        yield Finding(
            "balance",
            f"{name}: by the seal of run {run}, the running totals of {table} do not add up.",
            table,
            partition,
            f"[{current.statement.start.get(partition)}, {current.statement.end.get(partition)})",
        )


def _judge_ledger(name: str, previous: Link, current: Link) -> Iterator[Finding]:
    """A command that accepts a loss adds to the loss ledger; every other step repeats it."""
    previous_losses, losses, run = previous.statement.losses, current.statement.losses, current.sealed.seal.run_id
    # Where a stream begins anew, what it had not lost yet goes from the ledger.
    is_kept = current.kind == KIND_NEW_EPOCH or losses[: len(previous_losses)] == previous_losses
    if not is_kept or (current.kind not in ("loss", KIND_NEW_EPOCH) and len(losses) != len(previous_losses)):
        yield Finding("balance", f"{name}: the seal of run {run} ({current.kind}) changes the loss ledger.", name)


def _judge_lost(name: str, link: Link) -> Iterator[Finding]:
    """What a step says it lost is tallied, and somebody accepted it."""
    statement, run = link.statement, link.sealed.seal.run_id
    tallied = statement.tallies.get(LOST, {})
    for partition in sorted({*statement.lost, *tallied}):
        spans = statement.lost.get(partition, [])
        named = sum((Tally.of_range(*span) for span in spans), Tally())
        # Before there was a ledger, a loss had a seal of its own.
        nobodys = link.kind == "ingest" and not is_accepted(statement.losses, statement.numbers.ids, {partition: spans})
        if named != tallied.get(partition, Tally()) or nobodys:
            description = "offsets that nobody gave up" if nobodys else "other offsets as lost than it counts"
            offsets = ", ".join(f"[{start}, {end})" for start, end in spans)
            yield Finding("balance", f"{name}: run {run} names {description}.", name, partition, offsets)


def _judge_dropped(name: str, link: Link) -> Iterator[Finding]:
    """What declared rules have dropped is tallied by partition, record by record."""
    statement, run = link.statement, link.sealed.seal.run_id
    tallied = sum(tally.count for rule in DROPPED for tally in statement.tallies.get(rule, {}).values())
    if tallied != statement.counts.filtered:
        message = f"{name}: run {run} dropped {statement.counts.filtered} records by declared rules, tallied {tallied}."
        yield Finding("balance", message, name)


def _judge_retired(name: str, previous: Link, current: Link) -> Iterator[Finding]:
    """Rows may go by retention, or where a key is there twice, and what has gone does not come back."""
    old, new = previous.statement.retired, current.statement.retired
    run, counted = current.sealed.seal.run_id, 0
    for table, partition in _differences(old, new):
        removed = new.get(table, {}).get(partition, Tally()) - old.get(table, {}).get(partition, Tally())
        counted += removed.count
        if not _may_go(current, table) or removed.count <= 0:
            text = f"{name}: by the seal of run {run} ({current.kind}), {removed.count} rows of {table} were retired."
            yield Finding("balance", text, table, partition)
    if current.kind == KIND_DEDUPLICATE and str(counted) != (
        stated := current.sealed.seal.statement.get(seal_keys.DEDUPLICATE_REMOVED)
    ):
        text = f"{name}: by the seal of run {run}, {stated} rows were there twice, and {counted} were retired."
        yield Finding("balance", text, name)


def _may_go(link: Link, table: str) -> bool:
    """Whether rows of a table may go by a step of this kind: of a deduplicated table alone, by its name."""
    if link.kind == KIND_DEDUPLICATE:
        return link.sealed.seal.statement.get(seal_keys.DEDUPLICATE_TABLE) == table
    return link.kind == "retire"


def _judge_offsets(name: str, previous: KafkaStatement, current: KafkaStatement, run: str) -> Iterator[Finding]:
    if (previous.cluster_id, previous.topic_id) != (current.cluster_id, current.topic_id):
        yield Finding("gap", f"{name}: run {run} went on in another topic of the name {current.topic}.", name)
    if len(current.topics) < len(previous.topics) or previous.numbers.renewed(current.numbers):
        yield Finding("gap", f"{name}: by the seal of run {run}, topics went or are others of the same name.", name)
    for partition, end in previous.end.items():
        start = current.start.get(partition)
        if start is None or start > end:
            until = start if start is not None else "the end"
            yield Finding("gap", f"{name}: run {run} left out offsets.", name, partition, f"[{end}, {until})")
        elif start < end:
            yield Finding("overlap", f"{name}: run {run} read offsets again.", name, partition, f"[{start}, {end})")


def _judge_balance(name: str, link: Link) -> Iterator[Finding]:
    statement, run = link.statement, link.sealed.seal.run_id
    tallied = over_tables(statement.tallies)
    for partition, end in statement.end.items():
        start, tally = statement.start.get(partition, end), tallied.get(partition, Tally())
        span = Tally.of_range(start, end)
        if tally.count > span.count or (tally.count == span.count and tally != span):
            yield Finding(
                "balance",
                f"{name}: run {run} accounts for {tally.count} records where there are {span.count} offsets, or for "
                "other offsets than it read.",
                name,
                partition,
                f"[{start}, {end})",
            )
    yield from _judge_gaps(name, statement, run)
    landed = sum(t.count for table, by_p in statement.tallies.items() if table not in NO_TABLES for t in by_p.values())
    counts = statement.counts
    if not landed == counts.written + counts.quarantined == counts.read - counts.filtered:
        yield Finding(
            "balance",
            f"{name}: run {run} read {counts.read} records, but {counts.written} written, {counts.quarantined} "
            f"quarantined and {counts.filtered} filtered do not make that, nor {landed} tallied.",
            name,
        )


def _judge_moved(name: str, link: Link) -> Iterator[Finding]:
    """Rows leave a table by no other step than one that takes them from the quarantine to where they belong.

    That as many come as leave, and the very same offsets, is what `_judge_balance` says of a step that reads nothing.
    """
    statement, run = link.statement, link.sealed.seal.run_id
    leaving = {t for t, by_p in statement.tallies.items() if t != COPIES for n in by_p.values() if n.count < 0}
    if link.kind == "maintenance":
        return  # it says again what another seal said
    if len(leaving) > (link.kind == KIND_REPROCESS) or (leaving and statement.counts.quarantined >= 0):
        message = f"{name}: by the seal of run {run} ({link.kind}), rows left {', '.join(sorted(leaving))}."
        yield Finding("balance", message, name)
    if link.kind == KIND_REPROCESS and any(statement.start.get(p) != end for p, end in statement.end.items()):
        yield Finding("balance", f"{name}: by the seal of run {run}, records were reprocessed and others read.", name)


def _judge_reprocessed(name: str, previous: Link, current: Link) -> Iterator[Finding]:
    """What came from the quarantine is counted by the steps that brought it, and by no other."""
    reprocessed = {table: by_p for table, by_p in current.statement.tallies.items() if current.kind == KIND_REPROCESS}
    reprocessed = {t: {p: tally for p, tally in by_p.items() if tally.count > 0} for t, by_p in reprocessed.items()}
    run = current.sealed.seal.run_id
    for table, partition in _differences(
        added(previous.statement.reprocessed, reprocessed), current.statement.reprocessed
    ):
        message = f"{name}: by the seal of run {run} ({current.kind}), what was reprocessed of {table} does not add up."
        yield Finding("balance", message, table, partition)


def _judge_gaps(name: str, statement: KafkaStatement, run: str) -> Iterator[Finding]:
    """Offsets that no table accounts for are as many as the run says it found without a record."""
    if statement.without_record is None:
        return
    tallied = over_tables(statement.tallies)
    for partition, end in statement.end.items():
        start, stated = statement.start.get(partition, end), statement.without_record.get(partition, 0)
        gaps = end - start - tallied.get(partition, Tally()).count
        if gaps != stated or (gaps and statement.because not in WITHOUT_RECORD):
            yield Finding(
                "balance",
                f"{name}: run {run} accounts for all but {gaps} offsets, and says that {stated} have no record, "
                f"because of {statement.because or 'nothing'}.",
                name,
                partition,
                f"[{start}, {end})",
            )


def _differences(
    expected: dict[str, dict[int, Tally]], actual: dict[str, dict[int, Tally]]
) -> Iterator[tuple[str, int]]:
    for table in sorted({*expected, *actual}):
        left, right = expected.get(table, {}), actual.get(table, {})
        for partition in sorted({*left, *right}):
            if left.get(partition, Tally()) != right.get(partition, Tally()):
                yield table, partition
