"""`lakehouse replay`: read a range of Kafka again and compare with what the tables hold."""

import json
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Annotated, Any

import typer
from pyiceberg.exceptions import NoSuchTableError
from pyspark.sql import SparkSession
from rich.table import Column, Table
from rich.text import Text

from lakehouse.cli.context import Context, context_of
from lakehouse.cli.exit_codes import PROMISE_BROKEN
from lakehouse.cli.streams import step_of
from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.engines.spark import spark_session
from lakehouse.errors import LakehouseError
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.repair.refused_records import numbers_of
from lakehouse.steps.ingest.repair.replay import Place, ReplayResult
from lakehouse.steps.ingest.repair.replay import replay as read_again

_SHOWN = 20


class NoRange(LakehouseError):
    """A text is no range of offsets."""


class CouldNotReplay(LakehouseError):
    """Something kept the range from being read or compared."""


def replay(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(help="The stream.")],
    *,
    ranges: Annotated[
        list[str],
        typer.Option(
            "--range", help="PARTITION:START:END, the end not included, of several topics TOPIC:…; repeatable."
        ),
    ],
    keep: Annotated[bool, typer.Option("--keep", help="Leave the branches with what was read, for a look.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Read offsets again into a branch and compare with the tables; exit 0: equal, 1: different, 2: could not run."""
    context = context_of(ctx)

    def session() -> AbstractContextManager[SparkSession]:
        return spark_session(context.settings, app_name=f"replay {stream}")

    step = step_of(context, stream, "replay", session)
    numbers = _numbers(step)
    requested = _ranges(ranges, numbers)
    try:
        compared = read_again(step, requested, keep=keep)
    except (LakehouseError, NoSuchTableError):
        raise
    except Exception as error:
        # The exit code is a verdict: what kept us from judging must not read as "different".
        raise CouldNotReplay(f"The replay failed: {type(error).__name__}: {error}") from error
    if as_json:
        branch = step.attempt.branch if keep else None
        typer.echo(
            json.dumps({"branch": branch, "tables": [_as_data(result, numbers) for result in compared]}, indent=2)
        )
    else:
        _show(context, compared, numbers)
        if keep:
            context.out.print(f"Kept as branch {step.attempt.branch}.", highlight=False, soft_wrap=True)
    if not all(result.equal for result in compared):
        raise typer.Exit(PROMISE_BROKEN)


def _numbers(step: IngestStep) -> TopicNumbers:
    name = step.stream.quarantine_table
    return numbers_of(read_bases(step.catalog, [name])[name])


def _ranges(options: Sequence[str], numbers: TopicNumbers) -> dict[int, tuple[int, int]]:
    spans: dict[int, tuple[int, int]] = {}
    for partition, span in (_range(option, numbers) for option in options):
        if partition in spans:
            raise NoRange(
                f"--range: partition {numbers.label(partition)} is named twice.", remedy="give each partition one range"
            )
        spans[partition] = span
    return spans


def _range(text: str, numbers: TopicNumbers) -> tuple[int, tuple[int, int]]:
    match = re.fullmatch(r"(.+):(\d+):(\d+)", text)
    partition = None if match is None else numbers.read(match[1])
    if match is None or partition is None:
        form, first = "topic:partition", f"{numbers.names[0]}:0"
        form, first = (form, first) if numbers.many else ("partition", "0")
        raise NoRange(f"--range is {text!r}.", remedy=f"write {form}:start:end, such as {first}:100:200")
    return partition, (int(match[2]), int(match[3]))


def _as_data(result: ReplayResult, numbers: TopicNumbers) -> dict[str, Any]:
    return {
        "table": result.table,
        "held": result.stored,
        "replayed": result.replayed,
        "equal": result.equal,
        "missing": [_place(position, numbers) for position in result.missing],
        "extra": [_place(position, numbers) for position in result.extra],
        "different": [
            {"place": _place(position, numbers), "columns": columns}
            for position, columns in sorted(result.different.items())
        ],
    }


def _show(context: Context, compared: Sequence[ReplayResult], numbers: TopicNumbers) -> None:
    lines = Table(
        Column("table", no_wrap=True), Column("rows", justify="right"), Column("read again", justify="right"), "verdict"
    )
    for result in compared:
        verdict = Text("equal", "green") if result.equal else Text("different", "bold red")
        lines.add_row(result.table, f"{result.stored:,}", f"{result.replayed:,}", verdict)
    context.out.print(lines)
    for result in compared:
        differences = [
            *(f"{_position_name(position, numbers)} is missing" for position in result.missing),
            *(f"{_position_name(position, numbers)} should not be there, or not so often" for position in result.extra),
            *(
                f"{_position_name(position, numbers)} differs in {', '.join(columns)}"
                for position, columns in sorted(result.different.items())
            ),
        ]
        for line in differences[:_SHOWN]:
            context.out.print(f"{result.table}: {line}", style="red", markup=False, highlight=False, soft_wrap=True)
        if len(differences) > _SHOWN:
            context.out.print(
                f"{result.table}: and {len(differences) - _SHOWN} more rows", style="red", highlight=False
            )


def _place(position: Place, numbers: TopicNumbers) -> tuple[int | str, int]:
    """As data: of several topics, the partition with its topic."""
    return (numbers.label(position[0]) if numbers.many else position[0]), position[1]


def _position_name(position: Place, numbers: TopicNumbers) -> str:
    return f"partition {numbers.label(position[0])} offset {position[1]}"
