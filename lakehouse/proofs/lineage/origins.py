"""From which snapshots each part of a table was computed: a run of some partitions leaves the others as they were.

The seal's own inputs are those of the newest run alone. What earlier runs have read for what is still there is beside
them, as few groups as there are different inputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from lakehouse import seal_keys
from lakehouse.protocol.seals.seal import Seal

REST = "*"  # every partition that is named nowhere else; of a table without partitions, some of its rows
_SHOWN = 20  # whoever is told to compute them has to see them all; neighbours are one range


@dataclass(frozen=True)
class Origin:
    """A part of a table, and what it was computed from.

    Args:
        inputs: table → snapshot; empty for parts that the seal no longer tells apart: of so many origins, or of
            partitions that were declared otherwise.
        partitions: keys, and neighbouring days or months as `first..last`; `*` for all that are named nowhere else.
    """

    inputs: Mapping[str, int]
    partitions: tuple[str, ...] = (REST,)

    def among(self, every: Sequence["Origin"]) -> str:
        """Which part of the table that is, in words; empty for all of it."""
        return part_in_words(self.partitions, [origin.partitions for origin in every])


def part_in_words(partitions: Sequence[str], every: Sequence[Sequence[str]]) -> str:
    """Some partitions for a person; empty if they are the whole table.

    Args:
        partitions: as a seal lists them.
        every: they, and all others that it lists.
    """
    if len(every) == 1:
        return ""
    if REST in partitions:
        return "its other partitions" if any(REST not in other for other in every) else "some of its rows"
    remaining = len(partitions) - _SHOWN
    text = ", ".join(partitions[:_SHOWN]) + (f" and {remaining} more" if remaining > 0 else "")
    return f"partition {text}" if len(partitions) == 1 and ".." not in text else f"partitions {text}"


def origins_of(seal: Seal | None) -> tuple[Origin, ...]:
    """The origins of what a table holds, by its newest seal; one if all of it was computed from the same."""
    if seal is None:
        return ()
    return origins_in(seal.statement) or (Origin(seal.inputs),)


def origins_in(statement: Mapping[str, str]) -> tuple[Origin, ...]:
    """The origins that a statement lists."""
    return msgspec.json.decode(statement.get(seal_keys.DERIVED_COMPUTED_FROM, "[]"), type=tuple[Origin, ...])


def keyed_in(statement: Mapping[str, str]) -> str:
    """What partition keys in a statement mean, such as `day(bought_at)`; empty if it does not say."""
    return statement.get(seal_keys.DERIVED_PARTITIONED_BY, "")


def follows_in(statement: Mapping[str, str]) -> str:
    """The input of which an incremental table reads each row once; empty for a table that is computed in full."""
    return statement.get(seal_keys.DERIVED_FOLLOWS, "")
