"""A contradiction, as a person is told of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Contradiction:
    """What is wrong with a metadata document.

    Args:
        words: the end of a sentence.
        remedy: what can be done about it, where that is more than to restore the file.
    """

    words: str
    remedy: str = ""
