"""Publishes of a number into two tables at once, by the write protocol alone: no Spark, no Kafka.

`python -m lakehouse.acceptance.numbers NAMESPACE NUMBER` is such a publish in a process of its own, to be killed.
"""

import sys
from collections.abc import Mapping, Sequence

import pyarrow as pa

from lakehouse.acceptance.scratch import NUMBERS, Scratch
from lakehouse.orchestration.resources.staging import stage_arrow
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Staged, publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.settings import load_settings

_SCHEMA = pa.schema([pa.field("number", pa.int64(), nullable=False)])


def bases_of(scratch: Scratch, catalog: LakeCatalog) -> Mapping[str, Base]:
    """Both tables as they are now."""
    return read_bases(catalog, [scratch.name(short) for short in NUMBERS])


def stage_number(catalog: LakeCatalog, bases: Mapping[str, Base], attempt: Attempt, number: int) -> Sequence[Staged]:
    """Write a number to an attempt's branches of both tables, and seal them; nobody sees it yet."""
    staged: list[Staged] = []
    for base in bases.values():
        stage_arrow(catalog, pa.table({"number": [number]}, schema=_SCHEMA), base, attempt, replacing=False)
        previous = base.sealed.seal if base.sealed else None
        seal = Seal.of(attempt, "write", statement={}, previous=previous)
        staged.append(seal_branch(catalog, base, attempt, seal))
    return staged


def numbers_in(scratch: Scratch) -> list[list[int]]:
    """What readers of each table get, sorted."""
    tables = [scratch.catalog.load_table(scratch.name(short)) for short in NUMBERS]
    return [sorted(table.scan().to_arrow()["number"].to_pylist()) for table in tables]


def main(namespace: str, number: str) -> None:
    """Publish a number into both tables of a run that is under way."""
    place = Scratch(load_settings(), namespace, 0, lambda _: None)
    attempt = place.attempt(f"write:{number}")
    publish(place.catalog, stage_number(place.catalog, bases_of(place, place.catalog), attempt, int(number)))


if __name__ == "__main__":
    main(*sys.argv[1:])
