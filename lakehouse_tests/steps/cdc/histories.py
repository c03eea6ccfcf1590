"""Random histories of keys, the order in which their changes arrive, and the ranges into which they are cut.

Every key has an order and cuts of its own: what a range holds of one says nothing of another. Truncates alone are
shared, so all keys of one draw are one table's.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from lakehouse.steps.cdc.position import ChangePosition
from lakehouse_tests.steps.cdc.plain_fold import Change, Key

NAMES = ("a", "b", "c")
_MICROS = 1_000  # of source time from one position to the next


@dataclass(frozen=True)
class Traits:
    """What occurs in a draw.

    Args:
        keys: how many.
        ranges: into how many each key's changes are cut, some of them empty.
        truncates: how many the table sees.
        tombstones: deletes may be followed by one without position, and rows may go by one alone.
        lateness: how far, in positions, the low watermark is behind; None: nothing is ever forgotten.
        soft: of the mirror.
    """

    keys: int
    ranges: int = 4
    truncates: int = 0
    tombstones: bool = False
    lateness: int | None = None
    soft: bool = False


@dataclass(frozen=True)
class Drawn:
    """A table's changes as they arrive, and the rows that the source has in the end."""

    ranges: list[list[Change]]
    truth: dict[Key, dict[str, Any]]


def draw(traits: Traits, random: Random) -> Drawn:
    """Draw a table's life."""
    last = 12 * traits.keys
    commits = iter(random.sample(range(1, last), k=min(last - 1, 11 * traits.keys)))
    truncates = sorted(random.randrange(1, last) for _ in range(traits.truncates))
    ranges: list[list[Change]] = [[] for _ in range(traits.ranges)]
    truth: dict[Key, dict[str, Any]] = {}
    pairs = [(_key(number, random), _key(number + traits.keys, random)) for number in range(0, traits.keys, 2)]
    for pair in pairs:
        own_commits = sorted(next(commits) for _ in range(random.randint(2, 18)))
        life = list(_life(pair, own_commits, truncates, truth, random))
        for key in pair:
            arrived = list(_arrival([change for change in life if change.key == key], traits, random))
            cuts = sorted(random.randint(0, len(arrived)) for _ in range(traits.ranges - 1))
            for into, start, end in zip(ranges, [0, *cuts], [*cuts, len(arrived)], strict=True):
                into.extend(arrived[start:end])
    for commit in truncates:
        ranges[random.randrange(traits.ranges)].append(Change("truncate", (), _position(commit), time=commit * _MICROS))
    return Drawn(list(_numbered(ranges)), truth)


def low_watermark(changes: list[Change], lateness: int) -> int:
    """Where the clock is after a range."""
    return max((change.time or 0 for change in changes), default=0) - lateness * _MICROS


def _key(number: int, random: Random) -> Key:
    return number, random.choice([None, "", "p"])


def _position(commit: int) -> ChangePosition:
    return ChangePosition(commit // 5000, commit % 5000, commit % 3)


def _life(
    pair: tuple[Key, Key], commits: list[int], truncates: list[int], truth: dict[Key, dict[str, Any]], random: Random
) -> Iterator[Change]:
    """What the source does to two keys, between which a row may move."""
    rows: dict[Key, dict[str, Any]] = {}
    before = 0
    for commit in commits:
        if any(before < truncate <= commit for truncate in truncates):
            rows.clear()
        before = commit
        key = random.choice(pair)
        position, time = _position(commit), commit * _MICROS
        if key not in rows:
            rows[key] = {name: _value(random) for name in NAMES}
            yield Change(random.choice(["insert", "insert", "read"]), key, position, rows[key], time=time)
        elif (chance := random.random()) < 0.55:
            fresh = {name: _value(random) for name in NAMES if random.random() < 0.6}
            rows[key] = rows[key] | fresh
            unsent = frozenset(name for name in NAMES if name not in fresh and random.random() < 0.5)
            yield Change("update", key, position, rows[key], unsent, time=time)
        else:
            moved = rows.pop(key)
            yield Change("delete", key, position, time=time)
            other = pair[1 - pair.index(key)]
            if chance > 0.85 and other not in rows:
                rows[other] = moved
                left_out = frozenset(name for name in NAMES if random.random() < 0.5)
                yield Change("insert", other, position, moved, left_out, time=time, other=key)
    if any(before < truncate for truncate in truncates):
        rows.clear()
    truth |= rows


def _value(random: Random) -> Any:
    return random.choice([None, *range(100)])


def _arrival(life: list[Change], traits: Traits, random: Random) -> Iterator[Change]:
    """Delays, records that come twice, tombstones, and seldom another partition."""
    partition = random.randrange(3)
    patience = random.choice([0, 0, 2, 20])
    delayed = sorted(enumerate(life), key=lambda numbered: numbered[0] + random.uniform(0, patience))
    sent: list[Change] = []
    for _, change in delayed:
        moved = random.random() < 0.03
        sent.append(replace(change, partition=(partition + 1) % 3 if moved else partition))
        if traits.tombstones and random.random() < (0.6 if change.gone else 0.05):
            sent.append(Change("tombstone", change.key, None, partition=sent[-1].partition))
        if random.random() < 0.05:
            sent.append(Change("control", (), None, partition=partition))
    yield from sent
    if sent and random.random() < 0.3:  # the connector starts again from an older offset
        yield from sent[random.randrange(len(sent)) :]


def _numbered(ranges: list[list[Change]]) -> Iterator[list[Change]]:
    offsets = [0, 0, 0]
    for changes in ranges:
        numbered: list[Change] = []
        for change in changes:
            numbered.append(replace(change, offset=offsets[change.partition]))
            offsets[change.partition] += 1
        yield numbered
