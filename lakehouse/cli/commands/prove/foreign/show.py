"""The verdict on somebody else's table, for a person."""

from rich.table import Column, Table

from lakehouse.cli.context import Context
from lakehouse.proofs.foreign import ForeignProof
from lakehouse.quantities import quantity


def show_foreign(context: Context, proof: ForeignProof) -> None:
    """Print what was compared, then what is wrong, what is open, and the verdict."""
    written = f", written by {proof.writer}" if proof.writer else ""
    context.tell(f"{', '.join(proof.tables)} from topic {proof.topic}{written}: {quantity(proof.rows, 'row')}")
    for name, columns in proof.columns.items():
        context.tell(f"coordinates of {name}: {', '.join(columns)}")
    if proof.ranges:
        context.out.print(_ranges(proof))
    for finding in proof.findings:
        context.tell(f"DISPROVED {finding.kind}: {finding.message}", "red")
    for reason in proof.undecided:
        context.tell(f"OPEN: {reason}", "yellow")
    match proof.verdict:
        case "proven":
            ahead = sum(part.ahead for part in proof.ranges)
            context.tell(f"PROVEN by {proof.decided_by}: each record has one row, once.", "green")
            if ahead:
                context.tell(
                    f"Behind the offsets above, {quantity(ahead, 'record')} of the topic {_has(ahead)} no row yet. "
                    "--group with the writer's consumer group tells whether it has passed them."
                )
        case "disproved":
            context.tell(f"DISPROVED by {proof.decided_by}: not each record has one row.", "bold red")
        case "open":
            context.tell(f"OPEN: {proof.decided_by} cannot decide.", "bold yellow")


def _ranges(proof: ForeignProof) -> Table:
    lines = Table(
        Column("partition", justify="right"),
        Column("offsets", no_wrap=True),
        Column("rows", justify="right"),
        Column("without value", justify="right"),
        Column("without record", justify="right"),
        Column("not there yet", justify="right"),
    )
    for part in proof.ranges:
        span = f"[{part.first}, {part.end})" if part.first is not None else "none"
        numbers = (part.rows, part.without_value, part.without_record, part.ahead)
        lines.add_row(str(part.partition), span, *(f"{number:,}" for number in numbers))
    return lines


def _has(count: int) -> str:
    return "has" if count == 1 else "have"
