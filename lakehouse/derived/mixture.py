"""With which parameters each part of a table was computed: a run of some partitions leaves the others as they were.

Without this, a month that was computed again with other parameters would be out of sight as soon as the next month is
computed: the newest seal would say nothing of it.
"""

from collections.abc import Mapping

from lakehouse.commit.seal import Seal
from lakehouse.derived.parts import Part
from lakehouse.derived.statement import KIND, DeriveStatement

REST = "*"  # every partition that is named nowhere else; of a table without partitions, some of its rows
Mixture = Mapping[str, tuple[str, ...]]


def mixture_of(seal: Seal | None) -> Mixture:
    """Digest of parameters → the partitions of a table that were computed with them, by its newest seal."""
    said = DeriveStatement.from_keys(seal.statement) if seal is not None and seal.kind == KIND else None
    if seal is None or said is None:
        return {}
    return said.computed_with or {seal.parameters_digest: (REST,)}


def mixed(before: Mixture, part: Part, digest: str, *, appending: bool) -> Mixture:
    """What `before` becomes with a run.

    Args:
        before: of the table as the run found it.
        part: what the run computes.
        digest: of the run's parameters.
        appending: whether rows stay beside those of the run, as in an incremental table.
    """
    if appending:
        return {**before, digest: (REST,)}
    if not part.keys:
        return {digest: (REST,)}
    keys = {one: part.keys_in(shown) - set(part.keys) for one, shown in before.items()}
    rest = {one for one, shown in before.items() if REST in shown}
    keys[digest] = keys.get(digest, set()) | set(part.keys)
    found = {
        one: (REST,) if one in rest else Part(part.derived, tuple(sorted(held))).shown for one, held in keys.items()
    }
    return {one: shown for one, shown in found.items() if shown}
