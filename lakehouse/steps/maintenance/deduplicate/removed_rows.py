"""What a deduplicating rewrite removed, as the seals of all tables of the stream tell it from then on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from lakehouse import seal_keys
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.proofs.audit.chain import KIND_DEDUPLICATE
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Staged, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.seal import Seal


@dataclass(frozen=True)
class RemovedRows:
    """What a deduplicating rewrite removed.

    Args:
        rows: how many.
        partitions: keys of the partitions.
        tallies: Kafka partition → the offsets that went; empty where the rows are of no stream.
        without_coordinates: rows among them that another writer left, without coordinates.
    """

    rows: int
    partitions: Sequence[str]
    tallies: Mapping[int, Tally]
    without_coordinates: int = 0


def seal_removed_rows(
    catalog: LakeCatalog, attempt: Attempt, bases: Mapping[str, Base], name: str, removed: RemovedRows
) -> list[Staged]:
    """Seal what is on the attempt's branch, and say the same in every table of the stream.

    Args:
        catalog: where the tables live.
        attempt: whose branch it is.
        bases: all tables that have to say it.
        name: the one that rows have gone from.
        removed: what has.
    """
    return [
        seal_branch(catalog, base, attempt, _seal(base.sealed.seal, attempt, name, removed))
        for base in bases.values()
        if base.sealed is not None
    ]


def _seal(previous: Seal, attempt: Attempt, name: str, removed: RemovedRows) -> Seal:
    """What the seal before says, with what went."""
    statement = {
        **{key: value for key, value in previous.statement.items() if key != seal_keys.KAFKA_JOINED},
        seal_keys.DEDUPLICATE_TABLE: name,
        seal_keys.DEDUPLICATE_REMOVED: str(removed.rows),
        seal_keys.DEDUPLICATE_PARTITIONS: msgspec.json.encode(sorted(removed.partitions)).decode(),
    }
    if (last_statement := KafkaStatement.from_keys(previous.statement)) is not None:
        new_statement = replace(
            last_statement.without_rows(name, removed.tallies),
            without_coordinates=_less(last_statement.without_coordinates, name, removed.without_coordinates),
        )
        statement |= new_statement.to_keys()
    return replace(Seal.repeated(previous, attempt), kind=KIND_DEDUPLICATE, statement=statement)


def _less(rows: Mapping[str, int], name: str, removed: int) -> dict[str, int]:
    """Table → rows without coordinates that are left."""
    return {table: count - (removed if table == name else 0) for table, count in rows.items()}
