"""Why a record cannot become a row: what decoders and rules say, in the same words."""

from dataclasses import dataclass
from typing import Literal

ErrorClass = Literal[
    "not_json",
    "not_an_object",
    "missing_field",
    "wrong_type",
    "out_of_range",
    "rule",
    "unknown_route",
    "route_refused",
    "tombstone",
    "unknown_operation",
    "unknown_position",
    "unknown_source",
    "missing_key",
    "null_in_key",
    "not_avro",
    "not_protobuf",
    "breaks_schema",
    "bad_compression",
    "no_schema_id",
    "unknown_schema",
    "schema_unusable",
    "table_stopped",
]


@dataclass(frozen=True, slots=True)
class RecordError:
    """Why one record goes to quarantine.

    The message names the field and what is wrong with it. It never shows a value that may be sensitive; the raw record
    is kept beside it anyway.
    """

    error_class: ErrorClass
    message: str
