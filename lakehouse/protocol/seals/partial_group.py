"""Reads what is left of a group of tables: a proof goes on with those that can be loaded, and names the others."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.exceptions import NoSuchTableError

from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.damage.damage import Damage, damaged_metadata
from lakehouse.protocol.errors import MetadataFileDamaged
from lakehouse.protocol.seals.read_group import Pinned, read_group

_ABSENT = " does not exist. Remedy: create it with `lakehouse apply`, or ingest with `lakehouse run`."
_NOT_THERE = re.compile(rf"\S+(?:{re.escape(_ABSENT)}| does not exist[.])")
_NAMED = 3  # of many tables that are not there


@dataclass(frozen=True)
class PartialGroup:
    """Those tables of a group that can be loaded, as they were at one moment.

    Attributes:
        tables: name → table.
        missing: names that the catalog does not know.
        damages: what keeps others from being loaded.
    """

    tables: dict[str, Pinned]
    missing: tuple[str, ...] = ()
    damages: tuple[Damage, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether all could be loaded."""
        return not self.missing and not self.damages

    @property
    def unloaded(self) -> dict[str, str]:
        """Name → why the table could not be loaded, in a sentence."""
        return {name: absence(name) for name in self.missing} | {
            damage.table: damage.message for damage in self.damages
        }


def absence(name: str) -> str:
    """What a person reads of a table that the catalog does not know."""
    return f"{name}{_ABSENT}"


def absent_together(sentences: Sequence[str]) -> list[str]:
    """The same sentences, with all those of `absence` in the place of the first: in a new lake, no table is there."""
    absent = [sentence for sentence in sentences if _NOT_THERE.fullmatch(sentence)]
    if len(absent) <= 1:
        return list(sentences)
    names = list(dict.fromkeys(sentence.partition(" ")[0] for sentence in absent))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    together = f"{', '.join(names[:_NAMED])}{more} do not exist."
    return [together if sentence == absent[0] else sentence for sentence in sentences if sentence not in absent[1:]]


def read_partial_group(catalog: LakeCatalog, names: Sequence[str]) -> PartialGroup:
    """Pin at one common moment every table of a group that can be loaded.

    Raises:
        NoSuchTableError: a table was dropped and created anew just now.
        ReadsNeverSettled: on a REST catalog, the tables changed during every attempt.
    """
    missing: tuple[str, ...] = ()
    damages: dict[str, Damage] = {}
    while True:  # each time around there is a table less
        remaining = [name for name in names if name not in missing and name not in damages]
        try:
            return PartialGroup(read_group(catalog, remaining), missing, tuple(damages.values()))
        except MetadataFileDamaged as error:
            damages[error.table] = damaged_metadata(error)
        except NoSuchTableError:
            if not (unknown := _unknown(catalog, remaining)):
                raise
            missing += unknown


def _unknown(catalog: LakeCatalog, names: Sequence[str]) -> tuple[str, ...]:
    locations = catalog.locations([identifier_of(name) for name in names])
    known = {*locations.known, *locations.refused}
    return tuple(name for name in names if identifier_of(name) not in known)
