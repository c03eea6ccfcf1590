"""`lakehouse infer`: propose a declaration, from a sample of a topic or from the schema that a registry has of it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from lakehouse.cli.context import Context, context_of
from lakehouse.declarations.columns.names import check_stream_name, check_topic_name, table_identifier
from lakehouse.engines.kafka import read_topic
from lakehouse.engines.kafka.records import record_values
from lakehouse.engines.registries import ConfluentRegistry
from lakehouse.errors import LakehouseError
from lakehouse.formats.avro import parse_writer_schema
from lakehouse.formats.inference.avro_columns import columns_of_schema
from lakehouse.formats.inference.proposal import Proposal, declaration_text
from lakehouse.formats.inference.sample import infer as infer_columns
from lakehouse.quantities import quantity

MOST_RECORDS = 100_000
_Proposed = tuple[tuple[Proposal, ...], str, tuple[str, ...]]


class NothingToInfer(LakehouseError):
    """The topic, or the registry, says nothing of columns."""


class FileThere(LakehouseError):
    """A file is there that would be replaced."""


def infer(
    ctx: typer.Context,
    topic: Annotated[str, typer.Argument(help="The topic.")],
    *,
    table: Annotated[str, typer.Option("--table", help="The table, namespace.table; default: raw and the topic.")] = "",
    records: Annotated[
        int, typer.Option("--records", min=1, max=MOST_RECORDS, help="So many of the newest records are looked at.")
    ] = 1000,
    registry: Annotated[
        bool, typer.Option("--registry", help="From the registry's newest schema of the topic (Avro), and no sample.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write this file, which is not there yet; otherwise it is printed.")
    ] = None,
) -> None:
    """Propose a declaration of a table and its stream, for you to look at; no value of a record is shown."""
    context = context_of(ctx)
    stream = re.sub(r"[^A-Za-z0-9_]+", "_", topic).strip("_")
    check_topic_name(stream, topic)
    table = table or f"raw.{stream}"
    check_stream_name(stream)
    table_identifier(table)
    columns, origin, unique = _of_registry(context, topic) if registry else _of_sample(context, topic, records)
    form = "Avro(registry=True)" if registry else ""
    text = declaration_text(table, topic, stream, columns, origin, form, unique)
    if out is None:
        typer.echo(text, nl=False)
        return
    if out.exists():
        raise FileThere(f"{out} is there, and is not replaced.", remedy="name another file, or look at what is printed")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    context.tell(f"{out}: {quantity(len(columns), 'column')} from {origin}")


def _of_registry(context: Context, topic: str) -> _Proposed:
    settings = context.settings.kafka.schema_registry
    if settings is None:
        raise NothingToInfer(
            "The settings name no registry.", remedy="write schema_registry with its url into the file in conf/kafka/"
        )
    client, subject = ConfluentRegistry(settings), f"{topic}-value"
    newest = client.latest(subject)
    answer = None if newest is None else client.schema(newest)
    if answer is None or answer.kind != "AVRO":
        kind = "none" if answer is None else f"one of {answer.kind}"
        raise NothingToInfer(
            f"The registry has {kind} under subject {subject}, where a schema of Avro is wanted.",
            remedy="look at a sample instead: leave --registry out",
        )
    schema = parse_writer_schema(*(text for _, text in answer.references), answer.text)
    if schema.kind != "record":
        raise NothingToInfer(
            f"Schema {newest} of subject {subject} is of {schema.kind}, and a row is made of a record.",
            remedy="declare the table yourself",
        )
    return columns_of_schema(schema), f"schema {newest} of subject {subject}", ()


def _of_sample(context: Context, topic: str, records: int) -> _Proposed:
    kafka = context.settings.kafka
    partitions = read_topic(kafka, topic).partitions
    share = -(-records // max(1, len(partitions)))
    ranges = {
        p: (max(limits.earliest, limits.last_stable - share), limits.last_stable) for p, limits in partitions.items()
    }

    def values() -> Iterator[bytes | None]:
        for record in record_values(kafka, topic, ranges):
            yield record.value

    inferred = infer_columns(values())
    if not inferred.columns:
        raise NothingToInfer(
            f"Topic {topic}: of {quantity(inferred.records + inferred.others, 'record')} none is a JSON object with "
            "fields.",
            remedy="send some, or name the registry with --registry",
        )
    more = f" ({inferred.others:,} others are no JSON objects)" if inferred.others else ""
    return inferred.columns, f"{quantity(inferred.records, 'record')} of topic {topic}{more}", inferred.unique
