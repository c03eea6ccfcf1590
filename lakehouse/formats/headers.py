"""The headers of a record, as they travel from Spark to its Python workers: JSON."""

from collections.abc import Iterable

import msgspec


class Header(msgspec.Struct):
    """As Spark renders one: Base64 for the value, and no field for a value that is null."""

    key: str
    value: bytes | None = None


def write_headers(headers: Iterable[Header]) -> str:
    """The JSON in which the headers of one record travel."""
    return msgspec.json.encode(list(headers)).decode()


def read_headers(text: str) -> list[Header]:
    """The headers of one record, from the JSON in which they travel."""
    return msgspec.json.decode(text, type=list[Header])
