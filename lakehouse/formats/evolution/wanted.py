"""What the records of a table have, as far as it is more or other than the table: never a value of theirs."""

from dataclasses import dataclass, field

from lakehouse.formats.inference.sample import SampledValues


@dataclass
class Wanted:
    """Of some records of one table.

    Attributes:
        accepted: JSON with fields that the table does not have, and that is a row all the same.
        refused: JSON that is no row for the sake of its types, or of what it lacks.
        schemas: ids of the Avro schemas that records have; of a single one the empty text.
        refused_schemas: those of them with records that are no rows for these reasons.
    """

    accepted: SampledValues = field(default_factory=SampledValues)
    refused: SampledValues = field(default_factory=SampledValues)
    schemas: set[str] = field(default_factory=set[str])
    refused_schemas: set[str] = field(default_factory=set[str])

    def merge(self, other: "Wanted") -> None:
        """Take what other records have."""
        self.accepted.merge(other.accepted)
        self.refused.merge(other.refused)
        self.schemas |= other.schemas
        self.refused_schemas |= other.refused_schemas
