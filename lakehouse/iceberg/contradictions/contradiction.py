"""The first thing in a metadata document that contradicts the rest of it, or Iceberg's table spec.

Most rules are what Iceberg's own `TableMetadata` and its parsers require when a table is read (Iceberg table spec,
"Table Metadata Fields"). Some are what nobody asks, and what would give two columns one id at the next change.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from lakehouse.iceberg.contradictions.columns import contradictions_of_columns
from lakehouse.iceberg.contradictions.history import contradictions_of_history
from lakehouse.iceberg.contradictions.times import contradictions_of_times
from lakehouse.iceberg.contradictions.values import odd_values


@dataclass(frozen=True)
class MetadataContradiction:
    """What is wrong with a metadata document.

    Args:
        words: the end of a sentence.
        remedy: what can be done about it, where that is more than to restore the file.
    """

    words: str
    remedy: str = ""


def contradiction_in(document: Mapping[str, Any]) -> MetadataContradiction | None:
    """The first contradiction in a document; None if there is none.

    Args:
        document: the metadata JSON, which PyIceberg could parse.
    """
    return next(_contradictions(document), None)


def _contradictions(document: Mapping[str, Any]) -> Iterator[MetadataContradiction]:
    # Values first: what is compared afterwards is of the type that it has to be.
    words = chain(odd_values(document), contradictions_of_columns(document), contradictions_of_history(document))
    yield from map(MetadataContradiction, words)
    yield from (MetadataContradiction(*times) for times in contradictions_of_times(document))
