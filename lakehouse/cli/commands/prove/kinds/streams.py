"""`lakehouse audit` of streams: each Kafka record is in one table, once."""

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.table import Column, Table

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind
from lakehouse.cli.context import Context
from lakehouse.engines.kafka.loss_ledger import AcceptedLoss
from lakehouse.proofs.audit import StreamProof, audit_stream
from lakehouse.quantities import quantity


def _prove(auditing: Auditing, name: str) -> StreamProof:
    stream = auditing.declared.streams[name]
    return audit_stream(auditing.catalog, name, (*stream.tables, stream.quarantine_table), scan=auditing.scan)


def _show(context: Context, proofs: Sequence[StreamProof]) -> None:
    for proof in proofs:
        _show_one(context, proof)


def _show_one(context: Context, proof: StreamProof) -> None:
    seals = quantity(proof.seals, "seal")
    title = f"{proof.stream}: {quantity(proof.read, 'record')} read, {seals}, proven from {proof.proven_from or '-'}"
    lines = Table(
        Column("table", no_wrap=True),
        Column("partition", justify="right"),
        Column("offsets", no_wrap=True),
        Column("rows", justify="right"),
        Column("decided by", no_wrap=True),
        title=title,
        title_justify="left",
    )
    for proven in proof.ranges:
        span = f"[{proven.first}, {proven.end})" if proven.first is not None else f"none below {proven.end}"
        lines.add_row(proven.table, str(proven.partition), span, f"{proven.rows:,}", proven.decided_by)
    context.out.print(lines)
    for rule, rows in proof.dropped.items():
        context.out.print(f"of the records read, {rows:,} were dropped by a declared rule ({rule})")
    for table, rows in proof.removed.items():
        context.out.print(f"of the records read, maintenance has removed {rows:,} from {table}")
    if proof.invisible:
        context.out.print(f"offsets without a record: {proof.invisible_because}")
    for absence in proof.absent:
        context.out.print(
            f"{absence}: their records are in its siblings.", soft_wrap=True, markup=False, highlight=False
        )
    for loss in proof.losses:
        context.out.print(_loss(loss, proof), style="yellow", soft_wrap=True, markup=False, highlight=False)


def _loss(loss: AcceptedLoss, proof: StreamProof) -> str:
    """One line of the loss ledger."""
    ranges = ", ".join(
        f"partition {p} offsets [{start}, {end}){'' if end <= proof.position.get(p, 0) else ' (not reached yet)'}"
        for p, spans in sorted(loss.ranges.items())
        for start, end in spans
    )
    accepted = datetime.fromtimestamp(loss.accepted_at_ms / 1000, UTC)
    return f"GIVEN UP {ranges} by run {loss.run_id}, {accepted:%Y-%m-%d %H:%M} UTC: {loss.reason}"


STREAMS = Kind("streams", lambda declared: sorted(declared.streams), _prove, _show, unsure=lambda proof: proof.errors)
