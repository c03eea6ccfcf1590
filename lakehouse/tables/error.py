"""What can be wrong with a declaration."""

from lakehouse.errors import LakehouseError


class DeclarationError(LakehouseError):
    """A table or stream is declared in a way that cannot work; the message names the file."""
