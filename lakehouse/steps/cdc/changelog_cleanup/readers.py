"""Who reads a changelog in ranges besides its mirrors, and up to which offsets: nothing newer may be retired.

An incremental table says in its own seal what it has read; of everybody else the lease tells. Who has been given up,
by `lakehouse lease release`, is waited for no longer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.exceptions import NoSuchTableError

from lakehouse.declarations import Derived, MirrorTables
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit.retirement import statement_then
from lakehouse.proofs.lineage.sealed import read_before
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.leases.lease import held_leases, release_command
from lakehouse.protocol.leases.terms import given_up
from lakehouse.protocol.seals.base import Base, read_bases


class CannotRetire(LakehouseError):
    """Changes cannot go without a mirror, another reader or a proof losing something."""


@dataclass(frozen=True)
class Reader:
    """Somebody who reads a changelog in ranges.

    Args:
        name: of the table that reads, or of the lease's owner.
        end: Kafka partition → first offset that it has not read.
    """

    name: str
    end: Mapping[int, int]

    def is_behind(self, before: Mapping[int, int]) -> bool:
        """Whether it has still to read some of what is before these offsets."""
        return any(self.end.get(partition, 0) < offset for partition, offset in before.items())


def readers_of(
    catalog: LakeCatalog,
    changelog: Base,
    statement: KafkaStatement,
    mirrors: Sequence[MirrorTables],
    followers: Sequence[Derived],
) -> tuple[Reader, ...]:
    """Everybody but the mirrors, whose checkpoints say more.

    Args:
        catalog: where the tables live.
        changelog: as it was loaded.
        statement: what its newest seal says.
        mirrors: of the changelog.
        followers: the incremental tables that follow it.

    Raises:
        CannotRetire: somebody has not begun, or nobody can say what has been read.
        SealBroken: a seal was changed after it was written.
    """
    mirrored = {tables.mirror.name for tables in mirrors}
    leased = {lease.owner: lease.snapshot_id for lease in held_leases(changelog.table) if lease.owner not in mirrored}
    read = leased | dict(_read(catalog, changelog.name, followers))
    forsaken = given_up(changelog.table)
    waiting = {name: snapshot_id for name, snapshot_id in read.items() if forsaken.get(name) != snapshot_id}
    return tuple(_reader(changelog, statement, name, snapshot_id) for name, snapshot_id in sorted(waiting.items()))


def read_on_or_release(changelog: str, names: Sequence[str]) -> str:
    """What to do about readers that are behind."""
    commands = ", ".join(f"`{release_command(changelog, name)}`" for name in names)
    return f"let {' and '.join(names)} run, or give up what is still to be read: {commands}"


def _read(catalog: LakeCatalog, changelog: str, followers: Sequence[Derived]) -> Iterator[tuple[str, int]]:
    """Incremental table → the snapshot up to which it has read."""
    for derived in followers:
        try:
            read = read_before(read_bases(catalog, [derived.name])[derived.name], changelog)
        except NoSuchTableError:
            read = None
        if read is None:
            raise CannotRetire(
                f"{derived.name} follows {changelog} and has read nothing of it so far.",
                remedy=f"compute it first (`lakehouse derive {derived.name}`), or take it out of the declarations",
            )
        yield derived.name, read


def _reader(changelog: Base, statement: KafkaStatement, name: str, snapshot_id: int) -> Reader:
    remedy = read_on_or_release(changelog.name, [name])
    if changelog.table.metadata.snapshot_by_id(snapshot_id) is None:
        raise CannotRetire(
            f"{name} has read {changelog.name} up to snapshot {snapshot_id}, which is not listed any more, so that "
            "nobody can say which changes it still needs.",
            remedy=remedy,
        )
    then = statement_then(changelog.table, snapshot_id)
    if then is not None and then.reprocessed_rows(changelog.name) != statement.reprocessed_rows(changelog.name):
        raise CannotRetire(f"Changes of {changelog.name} were reprocessed after what {name} has read.", remedy=remedy)
    return Reader(name, then.end if then is not None else {})
