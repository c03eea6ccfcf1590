"""What `lakehouse run` says at its end: what came in, where it is, what was proven, where to look next."""

from collections.abc import Iterable, Mapping, Sequence

import dagster as dg
from rich.table import Column, Table
from rich.text import Text

from lakehouse.cli.context import Context
from lakehouse.cli.reports.demo_report import show_demo
from lakehouse.cli.reports.derived_report import show_derived, show_plots, show_releases
from lakehouse.cli.reports.few_tables import left_out, rows_together
from lakehouse.cli.reports.mirror_report import show_mirrored
from lakehouse.cli.reports.outcome import RunOutcome
from lakehouse.cli.reports.positions import MirrorState, counted, mirror_states
from lakehouse.cli.reports.quarantine_report import show_quarantined
from lakehouse.declarations import Stream
from lakehouse.engines.kafka.statement import COPIES, KafkaStatement
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.resources import Lake
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.protocol.seals.row_count import row_count
from lakehouse.quantities import quantity
from lakehouse.settings import Settings
from lakehouse.settings.shipped import conf_of_clone

_REFUSED = ("_kafka_partition", "_kafka_offset", "error_class", "error_message")
_WIDE = 100  # columns; a narrower terminal has no room for snapshots, which `lakehouse tables` shows as well


def show_report(context: Context, lake: Lake, outcome: RunOutcome, *, demo: bool) -> None:
    """Print the report; of the demo, what is known of its data only where it was asked for."""
    names = sorted(name for name in lake.declarations.tables if lake.catalog.table_exists(identifier_of(name)))
    group = read_group(lake.catalog, names) if names else {}
    context.out.print()
    mirrors = mirror_states(lake.declarations, lake.catalog)
    rows = _rows_of(group, mirrors)
    writers = {name: getattr(lake.declarations.writer(name), "name", name) for name in group}
    context.out.print(_tables(group, rows, outcome, writers, snapshots=context.out.width >= _WIDE))
    context.out.print(_streams(group, lake.declarations.streams.values(), outcome))
    for stream in lake.declarations.streams.values():
        _show_balance(context, group, rows, stream)
    show_mirrored(context, lake, mirrors, outcome)
    if demo:
        show_demo(context, lake, rows)
    show_derived(context, lake, group, outcome)
    show_releases(context, lake)
    quarantines = {stream.quarantine_table for stream in lake.declarations.streams.values()}
    show_quarantined(context, lake, sorted(quarantines & group.keys()), _REFUSED, ["error_class"])
    _show_checks(context, outcome)
    show_plots(context, outcome)
    context.tell(f"{done(outcome)}. {quantity(len(outcome.runs), 'Dagster run')}, {outcome.seconds:.0f} s in all.")
    for line in next_steps(context.settings):
        context.tell(line)


def next_steps(settings: Settings) -> tuple[str, ...]:
    """What to look at next: by make in the clone, and by the command alone in a project of one's own."""
    in_clone = settings.conf == conf_of_clone()
    dev, lakehouse = ("make dev", ".venv/bin/lakehouse") if in_clone else ("lakehouse dev", "lakehouse")
    more = ", `… produce --days 1`" if settings.demo else ""
    return (
        f"Next: `{dev}` (Dagster's UI at http://127.0.0.1:3000; runs start when messages come)",
        f"      `{lakehouse} audit` (the proof, from outside), `… tables`{more}",
    )


def done(outcome: RunOutcome) -> str:
    """What was done to rows, in one line; a table that is computed anew gains none by it."""
    added, written = sum(outcome.added.values()), sum(outcome.written.values())
    changed = sum(counts.updated + counts.deleted for counts in outcome.mirrored.values())
    parts = [f"{quantity(added, 'row')} added"] if added or outcome.failures else []
    if written:
        parts.append(f"{quantity(written, 'row')} of {quantity(len(outcome.written), 'table')} written anew")
    if changed:
        parts.append(f"{quantity(changed, 'row')} of mirrors updated or deleted")
    if outcome.failures:
        return f"{', '.join(parts)}, and {quantity(len(outcome.failures), 'step')} failed: see above"
    return ", ".join(parts) or "Nothing new: every message was read before, no row was added"


def _rows_of(group: Mapping[str, Pinned], states: Iterable[MirrorState]) -> dict[str, int | None]:
    """Table → rows that a reader sees; of mirrors by their seals, without a look at delete files."""
    mirrors = {s.mirror: s.rows for s in states if not s.problem}
    return {
        name: mirrors[name] if name in mirrors else row_count(pinned.table, pinned.snapshot_id)
        for name, pinned in group.items()
    }


def _tables(
    group: Mapping[str, Pinned],
    rows: Mapping[str, int | None],
    outcome: RunOutcome,
    writers: Mapping[str, str],
    *,
    snapshots: bool,
) -> Table:
    shown = Table(
        Column("table", no_wrap=True),
        Column("rows written", justify="right", no_wrap=True),
        Column("rows", justify="right", no_wrap=True),
        *([Column("snapshot", no_wrap=True)] if snapshots else []),
        "checks",
    )
    more = left_out(writers, {name for (name, _), check in outcome.checks.items() if not check.passed})
    hidden = {name for names in more.values() for name in names}
    for name, pinned in group.items():
        if name in hidden:
            continue
        checks = [check for (table, _), check in outcome.checks.items() if table == name]
        snapshot = [str(pinned.snapshot_id or "")] if snapshots else []
        shown.add_row(name, _written(outcome, name), counted(rows[name]), *snapshot, _verdict(checks))
        if names := more.get(name):
            added = sum(outcome.added.get(each, 0) for each in names)
            together = counted(rows_together(rows[each] for each in names))
            shown.add_row(f"… {len(names)} more of {writers[name]}", f"+{added:,}" if added else "", together)
    return shown


def _written(outcome: RunOutcome, name: str) -> str:
    if name in outcome.written:
        return f"{outcome.written[name]:,} anew"
    return f"+{outcome.added[name]:,}" if outcome.added.get(name) else ""


def _verdict(checks: Sequence[dg.AssetCheckEvaluation]) -> Text:
    passed = sum(check.passed for check in checks)
    warned = sum(is_warning(check) for check in checks)
    parts = [Text(f"{passed} passed", "green")]
    if warned:
        parts.append(Text(f"{warned} warn{'s' * (warned == 1)}", "yellow"))
    if failed := len(checks) - passed - warned:
        parts.append(Text(f"{failed} FAILED", "bold red"))
    return Text(", ").join(parts) if checks else Text()


def is_warning(check: dg.AssetCheckEvaluation) -> bool:
    """Whether a check that did not pass may do so, by declaration."""
    return not check.passed and check.severity is dg.AssetCheckSeverity.WARN


def _streams(group: Mapping[str, Pinned], streams: Iterable[Stream], outcome: RunOutcome) -> Table:
    shown = Table(
        Column("topic", no_wrap=True),
        Column("messages", justify="right", no_wrap=True),
        "read up to (partition:offset)",
        Column("seconds", justify="right"),
    )
    for stream in streams:
        statement = _statement(group, stream)
        shown.add_row(
            stream.topic,
            f"{statement.total_counts.read:,}" if statement else "",
            _positions(statement) if statement else "nothing read yet",
            f"{outcome.step_seconds.get(stream.quarantine_table, 0):.1f}",
        )
    return shown


def _positions(statement: KafkaStatement) -> str:
    return " ".join(f"{p}:{end}" for p, end in statement.numbers.labelled(statement.end).items())


def _statement(group: Mapping[str, Pinned], stream: Stream) -> KafkaStatement | None:
    pinned = group.get(stream.quarantine_table)
    sealed = pinned.sealed if pinned else None
    return KafkaStatement.from_keys(sealed.seal.statement) if sealed else None


def _show_balance(
    context: Context, group: Mapping[str, Pinned], rows: Mapping[str, int | None], stream: Stream
) -> None:
    """Messages of a topic = rows of its tables: the promise in one line."""
    counted = {name: rows[name] or 0 for name in (*stream.tables, stream.quarantine_table) if name in group}
    statement = _statement(group, stream)
    if statement is None:
        return
    context.tell(balance(stream.topic, statement, counted))


def balance(topic: str, statement: KafkaStatement, rows: Mapping[str, int]) -> str:
    """The equation of a stream: messages that were read, and where each is.

    Args:
        topic: that was read.
        statement: of the stream's newest seal.
        rows: table → rows that are there, quarantine included.
    """
    read = statement.total_counts.read
    removed = {name: statement.removed_rows(name) for name in rows if statement.removed_rows(name)}
    copies = -sum(tally.count for tally in statement.totals.get(COPIES, {}).values())
    dropped = statement.dropped
    equal = read == sum(rows.values()) + sum(removed.values()) + sum(dropped.values()) - copies
    parts = [f"{count:,} in {name}" for name, count in rows.items()]
    parts += [f"{count:,} removed from {name} since" for name, count in removed.items()]
    parts += [f"{count:,} dropped by rule ({rule})" for rule, count in dropped.items()]
    more = f" − {copies:,} that are in several tables" if copies else ""
    return f"{quantity(read, 'message')} of topic {topic} {'=' if equal else '≠'} {' + '.join(parts)}{more}"


def _show_checks(context: Context, outcome: RunOutcome) -> None:
    for (table, name), check in sorted(outcome.checks.items()):
        if not check.passed:
            style = "yellow" if is_warning(check) else "bold red"
            context.tell(f"{name} of {table}: {check.description}", style)
    for step, error in outcome.failures.items():
        context.tell(f"{step} failed: {error}", "bold red")
    passed = sum(check.passed for check in outcome.checks.values())
    warned = sum(is_warning(check) for check in outcome.checks.values())
    warning = f", {warned} warn (as their tables declare)" if warned else ""
    context.tell(f"Checks: {passed} passed{warning}, {len(outcome.checks) - passed - warned} failed.")
