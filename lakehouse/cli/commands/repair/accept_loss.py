"""`lakehouse accept-loss`: give up records that are gone or cannot be read, and put that on record."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from lakehouse.cli.context import AsJson, Context, context_of
from lakehouse.cli.streams import print_sealed, step_of
from lakehouse.engines.kafka.loss_ledger import Range
from lakehouse.errors import LakehouseError
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.quantities import quantity
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.refusals import shown
from lakehouse.steps.ingest.repair.accept_offsets import find_offsets_loss, parse_offsets, require_reason
from lakehouse.steps.ingest.repair.loss import Loss, find_loss
from lakehouse.steps.ingest.repair.loss import accept_loss as seal_loss
from lakehouse.steps.ingest.repair.refused_records import numbers_of


class OptionsContradict(LakehouseError):
    """Options that do not go together."""


class MomentInvalid(LakehouseError):
    """What was typed says no moment."""


def accept_loss(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(help="The stream.")],
    *,
    offsets: Annotated[
        list[str] | None,
        typer.Option(
            "--offsets",
            help="Offsets that cannot be read, PARTITION:FIRST-LAST with both ends included, of several topics "
            "TOPIC:PARTITION:…; may be repeated.",
        ),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why, with --offsets; every audit shows it.")] = "",
    new_epoch: Annotated[
        bool,
        typer.Option("--new-epoch", help="The topic is another one now, or its log was cut: begin in the present one."),
    ] = False,
    since: Annotated[
        str,
        typer.Option(
            "--since",
            help="With --new-epoch: another log is read from this moment of Kafka's timestamps on, such as "
            "2026-11-26T12:00:00Z; by default from its earliest record.",
        ),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would be given up.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give up records that retention deleted unread, or that cannot be read, or begin anew in another topic.

    It is sealed in every table of the stream, in its loss ledger, which every audit shows.
    """
    if offsets and new_epoch:
        raise OptionsContradict("--offsets and --new-epoch answer different questions.", remedy="use one of them")
    if since and not new_epoch:
        raise OptionsContradict("--since goes with --new-epoch.", remedy="say both, or leave it out")
    if reason and not offsets:
        raise OptionsContradict("--reason goes with --offsets.", remedy="name the offsets, or leave it out")
    context = context_of(ctx)
    step = step_of(context, stream, "accept-loss")
    bases = read_bases(step.catalog, step.tables)
    loss = _find(
        step,
        bases,
        parse_offsets(offsets or [], numbers_of(bases[step.stream.quarantine_table])),
        reason,
        new_epoch=new_epoch,
        since=_moment(since) if since else None,
    )
    if not as_json:
        _show(context, stream, loss)
    published = seal_loss(step, bases, loss) if yes else None
    print_sealed(context, step, published, as_json=_as_data(stream, loss) if as_json else None)


def _as_data(stream: str, loss: Loss) -> dict[str, Any]:
    numbers = loss.statement.numbers
    return {
        "stream": stream,
        "kind": loss.kind,
        "reason": loss.reason,
        "offsets": loss.offsets,
        "given_up": {p: [list(span) for span in spans] for p, spans in numbers.labelled(loss.accepted).items()},
        "not_reached": {p: [list(span) for span in spans] for p, spans in numbers.labelled(loss.ahead).items()},
        "doubtful": {p: list(span) for p, span in numbers.labelled(loss.doubtful).items()},
        "goes_on_at": numbers.labelled(loss.statement.end),
    }


def _find(
    step: IngestStep,
    bases: Mapping[str, Base],
    offsets: Mapping[int, list[Range]],
    reason: str,
    *,
    new_epoch: bool,
    since: datetime | None,
) -> Loss:
    if offsets:
        return find_offsets_loss(step, bases, offsets, require_reason(reason))
    return find_loss(step, bases, new_epoch=new_epoch, since=since)


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise MomentInvalid(
            f"--since is {text!r}, and no moment with a time zone.", remedy="write it as 2026-11-26T12:00:00Z"
        )
    return moment


def _show(context: Context, stream: str, loss: Loss) -> None:
    lines = Table(Column("partition", justify="right"), "given up", Column("offsets", justify="right"), "goes on at")
    for partition, end in sorted(loss.statement.end.items()):
        for start, until in loss.accepted.get(partition, [(end, end)]):
            span = f"[{start}, {until})" if until > start else "-"
            lines.add_row(loss.statement.numbers.label(partition), span, f"{until - start:,}", str(max(end, until)))
    context.out.print(lines)
    context.out.print(
        f"{stream} gives up {quantity(loss.offsets, 'offset')} ({loss.reason}).", highlight=False, markup=False
    )
    labelled = loss.statement.numbers.labelled
    if ahead := [
        f"partition {p} [{start}, {end})" for p, spans in labelled(loss.ahead).items() for start, end in spans
    ]:
        message = (
            f"Not reached yet: {', '.join(ahead)}. The run that gets there lands what lies before, and steps over it."
        )
        context.out.print(message, highlight=False, markup=False, soft_wrap=True)
    if loss.doubtful:
        context.out.print(
            f"In doubt and not counted: {shown(loss.doubtful, loss.statement.numbers)}.", highlight=False, markup=False
        )
