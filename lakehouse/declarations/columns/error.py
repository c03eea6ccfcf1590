"""What can be wrong with a declaration, and with data that do not follow it."""

from lakehouse.errors import LakehouseError


class DeclarationError(LakehouseError):
    """A table or stream is declared in a way that cannot work; the message names the file."""


class DoesNotFit(LakehouseError):
    """Data are not what their table holds; nothing was published."""
