"""Tallies and offsets as texts of a seal, and back."""

import msgspec

from lakehouse.engines.kafka.tally import Tally


def text_of(value: object) -> str:
    """A value of a statement as JSON."""
    # Sums of squares exceed 64 bits after some hundred million offsets; JSON numbers have no such limit, msgspec has.
    return msgspec.json.encode(_plain(value)).decode()


def _plain(value: object) -> object:
    if isinstance(value, Tally):
        return [str(value.count), str(value.total), str(value.squares)]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in sorted(value.items())}
    return value


def tallies_of(text: str) -> dict[str, dict[int, Tally]]:
    """Table → partition → tally, of such a text."""
    read = msgspec.json.decode(text, type=dict[str, dict[int, tuple[str, str, str]]])
    return {
        table: {partition: Tally(*map(int, parts)) for partition, parts in by_partition.items()}
        for table, by_partition in read.items()
    }
