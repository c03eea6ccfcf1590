"""Proofs in parts: what keeps a part from its end is written down, and hides nothing that the others find."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pyiceberg.table import Table

from lakehouse.errors import LakehouseError
from lakehouse.protocol.damage.damage import Damage, damaged_metadata, first_line
from lakehouse.protocol.damage.inspection import damages
from lakehouse.protocol.errors import MetadataFileDamaged

Heads = Sequence[tuple[Table, int | None]]
"""Tables, and the snapshot of each that is read."""
_Result = TypeVar("_Result")


@dataclass
class Attempted:
    """Parts of a proof, each of which is tried, whatever became of the others.

    Attributes:
        damages: files that kept a part from its end.
        errors: what else did, in words.
    """

    damages: list[Damage] = field(default_factory=list[Damage])
    errors: list[str] = field(default_factory=list[str])

    def part(self, subject: str, heads: Heads, prove: Callable[[], _Result], default: _Result) -> _Result:
        """What a part of the proof gives, or another value where it cannot be carried out; why is kept.

        Args:
            subject: what it is about, for a person.
            heads: the tables that it reads, among whose files the cause is looked for.
            prove: carries it out.
            default: the other value.
        """
        try:
            return prove()
        except MetadataFileDamaged as error:
            self._note([damaged_metadata(error)], error.message)
        except LakehouseError as error:
            # It says of itself what is wrong, and where.
            self._note([], str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not hide what other parts have found
            self._note([damage for table, head in heads for damage in damages(table, head)], _describe(subject, error))
        return default

    def _note(self, new_damages: Sequence[Damage], message: str) -> None:
        known_files = {(damage.table, damage.path) for damage in self.damages}
        self.damages += [damage for damage in new_damages if (damage.table, damage.path) not in known_files]
        if not any(damage.lost for damage in new_damages):
            self.errors += [
                text for text in (*(damage.message for damage in new_damages), message) if text not in self.errors
            ]


def _describe(subject: str, error: Exception) -> str:
    return f"{subject} could not be proven: {first_line(error)}."
