"""Publish: the tables that one step wrote become visible together, or not at all.

The story of one publish: load all targets together; judge each (may it land, has it landed, must it be rebased?); send
one catalog transaction whose requirements repeat what was judged; when the answer is lost, start with a fresh load.
A table that has landed already is left out: so a catalog that shows, or made, half a transaction is completed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ServerError, ServiceUnavailableError
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import AssertCurrentSchemaId, AssertTableUUID, TableRequirement
from pyiceberg.typedef import Identifier
from requests import RequestException
from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from lakehouse.iceberg.names import name_of
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is, remove_ref, remove_snapshots, set_branch
from lakehouse.protocol.commit.conflict_check import ConflictVerdict, check_conflict
from lakehouse.protocol.commit.durability import secure_staged_files
from lakehouse.protocol.commit.rebase import rebase
from lakehouse.protocol.commit.staged import Staged
from lakehouse.protocol.commit.trim import outdated_snapshots
from lakehouse.protocol.errors import UNKNOWN_OUTCOME, MainBusy, PublishUnresolved, TableGone
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.leases.lease import Lease, lease_change
from lakehouse.protocol.seals.history import MAIN, head_of
from lakehouse.retry import NO_ANSWER, OTHERS_FIRST, pause

_ROUNDS = 20
_REBASES = 3
_REBASES_OF_REPLACEMENTS = 20  # they meet every append, and nobody waits for them
_WHEN_BACK = "when the catalog answers again, run the step again: it finds out whether this attempt landed"


@dataclass(frozen=True)
class Published:
    """What became visible.

    Args:
        snapshots: table name → snapshot id of its seal on `main`.
        rounds: how many times the publish was tried.
        rebases: how many times staged files were put on a newer base.
    """

    snapshots: dict[str, int]
    rounds: int
    rebases: int


Condition = Callable[[], TableChange | None]
"""Loads a table that is not written, and says what must be true of it when the others change; or raises a refusal."""


def publish(
    catalog: LakeCatalog,
    staged: Sequence[Staged],
    *,
    leases: Sequence[Lease] = (),
    conditions: Sequence[Condition] = (),
) -> Published:
    """Move `main` of every table to its staged head in one catalog transaction.

    Args:
        catalog: where the tables live.
        staged: the sealed branches.
        leases: moved in the same transaction, on tables that the step has read. What happens to `main` of those is no
            reason not to publish.
        conditions: asked before each try; what they require is part of the same transaction.

    Raises:
        ValueError: a table is named twice.
        Superseded: another attempt published first.
        StagedFilesLost: a manifest of the attempt is gone; a data file where it is on this machine's disk.
        CommitError: one of its other kinds; see `lakehouse.protocol.commit.conflict_check`.
        TableGone: a table was dropped or renamed since it was staged.
        PublishUnresolved: the catalog never gave a clear answer.
    """
    failpoint("publish.before")
    staged_by_table = {item.base.identifier: item for item in staged}
    if len(staged_by_table) < len(staged):
        raise ValueError("A publish names each table once: seal all of a step's work on one branch.")
    if any(lease.identifier in staged_by_table for lease in leases):
        raise ValueError("A step does not lease a table that it writes.")
    rounds, rebases, last_error = 0, 0, None
    secured_heads: set[int] = set()
    while (rounds := rounds + 1) <= _ROUNDS + 2 * rebases:
        tables = _load(catalog, list(staged_by_table))
        verdicts = {
            identifier: check_conflict(item, tables[identifier]) for identifier, item in staged_by_table.items()
        }
        unpublished = {i: item for i, item in staged_by_table.items() if verdicts[i] is not ConflictVerdict.LANDED}
        if not unpublished:
            return _published(staged_by_table, rounds, rebases)
        stale = [identifier for identifier, verdict in verdicts.items() if verdict is ConflictVerdict.REBASE]
        try:
            if stale:
                rebases += 1
                _bound_rebases(rebases, [staged_by_table[identifier] for identifier in stale])
                for identifier in stale:
                    staged_by_table[identifier] = rebase(catalog, staged_by_table[identifier], tables[identifier])
                continue
            _secure(unpublished, tables, secured_heads)
            changes = [_change(item, tables[identifier]) for identifier, item in unpublished.items()]
            moved = [change for lease in leases if (change := lease_change(catalog, lease)) is not None]
            required = [change for condition in conditions if (change := condition()) is not None]
            catalog.commit_tables([*changes, *_together(moved, required)])
        except (CommitFailedException, NoSuchTableError) as error:
            # Either a requirement does not hold any more or an unrelated commit was quicker: the next load tells.
            last_error = error
            pause(2 * OTHERS_FIRST)
        except UNKNOWN_OUTCOME as error:
            last_error = error
            pause(NO_ANSWER)
        else:
            failpoint("publish.after")
            return _published(staged_by_table, rounds, rebases)
    names = ", ".join(item.base.name for item in staged)
    raise PublishUnresolved(
        f"{names}: no clear answer from the catalog in {rounds - 1} tries"
        + (f" (last: {last_error})." if last_error else "."),
        remedy=_WHEN_BACK,
    ) from last_error


def _secure(unpublished: dict[Identifier, Staged], tables: dict[Identifier, Table], secured_heads: set[int]) -> None:
    """Look at what is staged once, however often it is tried."""
    for identifier, item in unpublished.items():
        if item.head not in secured_heads:
            secure_staged_files(item, tables[identifier])
            secured_heads.add(item.head)


def _together(moved: Sequence[TableChange], required: Sequence[TableChange]) -> Iterator[TableChange]:
    """One change for each table that is not published."""
    changes: dict[Identifier, TableChange] = {}
    for change in (*moved, *required):
        known = changes.get(change.identifier)
        requirements = (*known.requirements, *change.requirements) if known else change.requirements
        updates = (*known.updates, *change.updates) if known else change.updates
        changes[change.identifier] = replace(change, requirements=requirements, updates=updates)
    yield from changes.values()


def _load(catalog: LakeCatalog, identifiers: list[Identifier]) -> dict[Identifier, Table]:
    patient = Retrying(
        retry=retry_if_exception_type((RequestException, ServerError, ServiceUnavailableError)),
        stop=stop_after_attempt(8),
        wait=wait_exponential_jitter(multiplier=0.1, max=5),
    )
    try:
        return patient(catalog.load_tables, identifiers)
    except NoSuchTableError as error:
        gone = [name_of(identifier) for identifier in identifiers if not catalog.table_exists(identifier)]
        raise TableGone(", ".join(gone or map(name_of, identifiers))) from error
    except RetryError as error:
        names = ", ".join(name_of(identifier) for identifier in identifiers)
        last = error.last_attempt.exception()
        raise PublishUnresolved(f"{names}: the catalog cannot be reached ({last}).", remedy=_WHEN_BACK) from last


def _bound_rebases(rebases: int, stale: list[Staged]) -> None:
    bound = _REBASES_OF_REPLACEMENTS if all(item.replacement is not None for item in stale) else _REBASES
    if rebases > bound:
        names = ", ".join(item.base.name for item in stale)
        raise MainBusy(
            f"{names}: main moved again after each of {bound} rebases.",
            remedy="run the step again when it is quieter",
        )


def _change(item: Staged, table: Table) -> TableChange:
    branches = [branch for branch in (item.branch, *item.retired) if head_of(table, branch) is not None]
    outdated = outdated_snapshots(table, item.head)
    return TableChange(
        identifier=item.base.identifier,
        requirements=(
            AssertTableUUID(uuid=table.metadata.table_uuid),
            ref_is(MAIN, item.base.snapshot_id),
            ref_is(item.branch, item.head),
            AssertCurrentSchemaId.model_validate({"current-schema-id": item.base.schema_id}),
            *(_tags_are_as_they_were(table) if outdated else ()),
        ),
        updates=(
            # Retention that somebody set on main is theirs to keep.
            set_branch(MAIN, item.head, like=table.metadata.refs.get(MAIN)),
            *(remove_ref(branch) for branch in branches),
            *([remove_snapshots(outdated)] if outdated else []),
        ),
    )


def _tags_are_as_they_were(table: Table) -> Iterator[TableRequirement]:
    """Or one that is moved back meanwhile, as the lease of a mirror that was rolled back, names what is trimmed."""
    for name, ref in table.metadata.refs.items():
        if ref.snapshot_ref_type == SnapshotRefType.TAG:
            yield ref_is(name, ref.snapshot_id)


def _published(staged_by_table: dict[Identifier, Staged], rounds: int, rebases: int) -> Published:
    return Published({item.base.name: item.head for item in staged_by_table.values()}, rounds, rebases)
