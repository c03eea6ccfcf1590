"""The base of every error that a user can meet: what happened, and what to do about it."""

from collections.abc import Iterator


class LakehouseError(Exception):
    """Something a person must know about.

    Each room defines its own subclasses beside the code that raises them. The message names the file, key, table,
    topic, partition or offset; the remedy says what to do.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(f"{message} Remedy: {remedy}" if remedy else message)
        self.message = message
        self.remedy = remedy


def with_causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and what it came from, the innermost last."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
