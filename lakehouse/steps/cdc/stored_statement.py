"""Where a mirror stands: what the newest seals of its tables say together."""

from collections.abc import Mapping

from msgspec import MsgspecError
from pyiceberg.table import Table

from lakehouse import seal_keys
from lakehouse.iceberg.claims.footer import false_claim
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.commit.relisting import Relisting
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.foreign_rewrites import foreign_rewrites
from lakehouse.protocol.seals.history import ancestry, head_of, listed_parent, seals, summary_of
from lakehouse.steps.cdc.refusals import MirrorRelisted, MirrorWithoutSeal, MirrorWrittenTo, StatementsDiffer
from lakehouse.steps.cdc.statement import MirrorStatement


def stored_statement(mirror: str, bases: Mapping[str, Base]) -> MirrorStatement | None:
    """What the mirror's tables say together, or None where none has begun.

    Raises:
        MirrorWithoutSeal: a table holds rows, and none of them is sealed.
        MirrorWrittenTo: somebody wrote outside the protocol.
        MirrorRelisted: somebody lists files otherwise than they were.
        StatementsDiffer: one table was rolled back, emptied or created anew alone.
    """
    statements = {name: newest_statement(base.table) for name, base in bases.items()}
    if not any(statements.values()):
        if rows := [name for name, base in bases.items() if base.has_rows]:
            raise MirrorWithoutSeal(mirror, rows)
        return None
    if foreign := {n: [s.snapshot_id for s in b.unsealed] for n, b in bases.items() if statements[n] and b.unsealed}:
        raise MirrorWrittenTo(mirror, foreign)
    for base in bases.values():
        _require_listed_as_before(mirror, base)
    first, *others = statements.values()
    if first is None or any(other is None or _identity(other) != _identity(first) for other in others):
        raise StatementsDiffer(mirror, {name: _shown(statement) for name, statement in statements.items()})
    return first


def newest_statement(table: Table) -> MirrorStatement | None:
    """What the newest seal of a mirror's run says; maintenance may have sealed since.

    Raises:
        SealBroken: a seal was changed after it was written.
    """
    for sealed in seals(table, head_of(table)):
        try:
            statement = MirrorStatement.from_keys(sealed.seal.statement)
        except (KeyError, TypeError, ValueError, MsgspecError) as error:
            raise SealBroken(
                f"{table_name(table)} snapshot {sealed.snapshot_id}: what its seal says of the mirror cannot be "
                f"read ({type(error).__name__}: {error}).",
                remedy="roll the table back to the snapshot before it, or restore the metadata from a backup",
            ) from error
        if statement is not None:
            return statement
    return None


def _require_listed_as_before(mirror: str, base: Base) -> None:
    """Refuse a rewrite by somebody else since the seal before the newest: one may have come while that was published.

    By manifests alone. That it has kept the rows is for the audit to prove.
    """
    table, sealed_ids = (
        base.table,
        [s.snapshot_id for s in ancestry(base.table, base.snapshot_id) if seal_keys.VERSION in summary_of(s)],
    )
    for rewrite in foreign_rewrites(table, base.snapshot_id, until=sealed_ids[1:2]):
        if (before := listed_parent(table, rewrite.snapshot_id)) is None:
            continue
        relisting = Relisting.between(table, before, rewrite.snapshot_id)
        if difference := relisting.difference() or false_claim(table, relisting.new_claims()):
            raise MirrorRelisted(mirror, base.name, rewrite.snapshot_id, difference)


def _identity(statement: MirrorStatement) -> tuple[str, str, int, int]:
    return statement.changelog_uuid, statement.build, statement.end, statement.rows


def _shown(statement: MirrorStatement | None) -> str:
    return f"build {statement.build} at {statement.end}" if statement else "no seal"
