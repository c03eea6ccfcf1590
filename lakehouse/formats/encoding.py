"""What encoders of lines have in common: what they take, and how they refuse it."""

from typing import Protocol

from lakehouse.errors import LakehouseError


class NotEncodable(LakehouseError):
    """A line that is no record of its schema, or a schema that is none."""


class LineEncoder(Protocol):
    """Makes records of lines, as somebody sends them by hand."""

    def encode(self, line: str) -> bytes:
        """A record from a line.

        Raises:
            NotEncodable: it is none of the schema; the message shows no value.
        """
        ...
