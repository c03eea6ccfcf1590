"""What a step of a user's own reads stays readable until the step ends, whoever publishes or expires meanwhile.

A snapshot that is read is held by a tag of the step, as the inputs of derived tables are. The tag goes when the step
has ended; if its process died before, it ends by itself a week later.
"""

import time
from collections.abc import Iterable, Sequence

import structlog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table.update import AssertTableUUID

from lakehouse.iceberg.names import identifier_of, is_elsewhere
from lakehouse.protocol.catalog import LakeCatalog, TableChange, remove_ref
from lakehouse.protocol.leases.references import commit_missing
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.steps.derived.inputs.pins import Pin, pin_inputs

_log = structlog.get_logger(__name__)


def pin_of(*step: object) -> Pin:
    """The pin of one try of a step, named by all that tells it from others.

    It begins now: a run that is executed again a week later reads what is there then.
    """
    return Pin("_".join(map(str, step)), time.time_ns() // 1_000_000)


def pinned_tables(catalog: LakeCatalog, names: Sequence[str], pin: Pin) -> dict[str, Pinned]:
    """Tables at their snapshots of one moment, each held by the tag of a pin; those without a snapshot by none.

    Raises:
        NoSuchTableError: one of them does not exist.
        CommitFailedException: other commits came first too often.
    """
    group = read_group(catalog, names)
    pins = pin_inputs(catalog, names, pin)
    return {name: pins.get(name) or Pinned(pinned.table, None) for name, pinned in group.items()}


def release_pins(catalog: LakeCatalog, names: Iterable[str], pin: Pin) -> None:
    """Remove the tags of a pin; one that cannot be removed now ends by itself. Other catalogs' tables have none."""
    left = sorted(name for name in set(names) if not is_elsewhere(name))

    def still_there() -> list[TableChange]:
        return [change for name in left if (change := _removal(catalog, name, pin)) is not None]

    try:
        commit_missing(catalog, still_there, what=f"{', '.join(left)}: the end of the tag {pin.tag}")
    except CommitFailedException as error:
        _log.warning("pin_left", tag=pin.tag, tables=left, reason=str(error))


def _removal(catalog: LakeCatalog, name: str, pin: Pin) -> TableChange | None:
    try:
        table = catalog.load_table(identifier_of(name))
    except NoSuchTableError:
        return None
    if pin.tag not in table.metadata.refs:
        return None
    return TableChange(table.name(), (AssertTableUUID(uuid=table.metadata.table_uuid),), (remove_ref(pin.tag),))
