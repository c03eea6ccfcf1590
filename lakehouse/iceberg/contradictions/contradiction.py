"""The first thing in a metadata document that contradicts the rest of it, or Iceberg's table spec.

Most rules are what Iceberg's own `TableMetadata` and its parsers require when a table is read (Iceberg table spec,
"Table Metadata Fields"). Some are what nobody asks, and what would give two columns one id at the next change.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from lakehouse.iceberg.contradictions.columns import contradictions_of_columns
from lakehouse.iceberg.contradictions.history import contradictions_of_history
from lakehouse.iceberg.contradictions.times import contradictions_of_times
from lakehouse.iceberg.contradictions.values import odd_values
from lakehouse.iceberg.contradictions.words import Contradiction


def contradiction_in(document: Mapping[str, Any]) -> Contradiction | None:
    """The first contradiction in a document; None if there is none.

    Args:
        document: the metadata JSON, which PyIceberg could parse.
    """
    return next(_contradictions(document), None)


def _contradictions(document: Mapping[str, Any]) -> Iterator[Contradiction]:
    # Values first: what is compared afterwards is of the type that it has to be.
    words = chain(odd_values(document), contradictions_of_columns(document), contradictions_of_history(document))
    yield from map(Contradiction, words)
    yield from contradictions_of_times(document)
