"""Pins: the tables that a run computes from are held at their snapshots of one moment, by a tag that the run sets once.

The first step that asks sets the tags, on all external inputs of its component and in one commit; every later step,
retry and re-execution finds them. So two steps of one run never read two versions of a table, however long the run
takes, and trimming keeps what a tag names. The tag's name is the same for whoever asks in the name of one run, so of
two steps that begin at once the catalog lets one set it, and the other finds it. The tags of runs that have ended go
with the next ones, in the same commit; those of runs of which nobody knows whether they have, after a week.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.update import AssertTableUUID

from lakehouse.iceberg.names import identifier_of, is_elsewhere
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is, remove_ref, set_tag
from lakehouse.protocol.leases.references import commit_missing
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.steps.derived.inputs.elsewhere import read_as_of

PIN_PREFIX = "lakehouse_pin_"
KEPT = timedelta(days=7)
_TIME_DIGITS = 11
_PIN = re.compile(rf"{PIN_PREFIX}(?P<begun>[0-9a-f]{{{_TIME_DIGITS}}})_(?P<owner>.*)")


def _nobody(_: Collection[str]) -> Collection[str]:
    return ()


@dataclass(frozen=True)
class Pin:
    """Whose pins.

    Args:
        owner: what Dagster started: the first run of a chain of re-executions, or a backfill.
        begun_ms: when that was, in milliseconds since the epoch; the same for each of its steps.
        ended: says who of other owners, as their tags name them, works no more.
    """

    owner: str
    begun_ms: int
    ended: Callable[[Collection[str]], Collection[str]] = field(default=_nobody, compare=False)

    @property
    def tag(self) -> str:
        """The tag's name. It begins with the time, so that everybody sees how old a pin is."""
        return f"{PIN_PREFIX}{self.begun_ms:0{_TIME_DIGITS}x}_{re.sub(r'[^A-Za-z0-9]+', '_', self.owner)}"


def pin_begun_ms(tag: str) -> int | None:
    """When the run of a pin began; None for a tag that is none, though it may begin like one."""
    match = _PIN.match(tag)
    return int(match["begun"], 16) if match else None


def pin_owner(tag: str) -> str | None:
    """Whose pin a tag is, in letters, digits and `_`; None for a tag that is none."""
    match = _PIN.match(tag)
    return match["owner"] if match else None


def pin_inputs(catalog: LakeCatalog, names: Sequence[str], pin: Pin) -> dict[str, Pinned]:
    """Hold tables at their snapshots of one moment, or find the tags that an earlier step has set.

    A table that does not exist, or has no snapshot yet, cannot be held and is left out; it is pinned by the first step
    that finds it written. Tags of runs that have ended, or that began a week or more before this one, go in the same
    commit. Tables of other catalogs get none: they are read as of the moment when the run began.

    Raises:
        CommitFailedException: other commits came first too often.
        InputGone: a table of another catalog has no snapshot of that moment.
    """
    elsewhere = [name for name in names if is_elsewhere(name)]
    return _tagged(catalog, [name for name in names if not is_elsewhere(name)], pin) | (
        read_as_of(catalog, elsewhere, pin.begun_ms) if elsewhere else {}
    )


def _tagged(catalog: LakeCatalog, names: Sequence[str], pin: Pin) -> dict[str, Pinned]:
    pinned: dict[str, Pinned] = {}

    def missing() -> list[TableChange]:
        changes: list[TableChange] = []
        pinned.clear()
        for name, current in _existing(catalog, names).items():
            if (snapshot_id := head_of(current.table, pin.tag)) is not None:
                pinned[name] = Pinned(current.table, snapshot_id)
            elif current.snapshot_id is not None:
                changes.append(_change(current.table, current.snapshot_id, pin))
        return changes

    commit_missing(catalog, missing, what=f"{', '.join(names)}: the tag {pin.tag}")
    return pinned


def _existing(catalog: LakeCatalog, names: Sequence[str]) -> dict[str, Pinned]:
    try:
        return read_group(catalog, names)
    except NoSuchTableError:
        return read_group(catalog, [name for name in names if catalog.table_exists(identifier_of(name))])


def _change(table: Table, snapshot_id: int, pin: Pin) -> TableChange:
    return TableChange(
        table.name(),
        # Where `main` is by now does not matter: what was read of all tables was one moment.
        (AssertTableUUID(uuid=table.metadata.table_uuid), ref_is(pin.tag, None)),
        (set_tag(pin.tag, snapshot_id), *(remove_ref(name) for name in _stale(table, pin))),
    )


def _stale(table: Table, pin: Pin) -> list[str]:
    oldest = pin.begun_ms - KEPT // timedelta(milliseconds=1)
    others = {tag: match for tag in table.metadata.refs if tag != pin.tag and (match := _PIN.match(tag))}
    ended = set(pin.ended({match["owner"] for match in others.values()}) if others else ())
    return [tag for tag, match in others.items() if match["owner"] in ended or int(match["begun"], 16) <= oldest]
