"""How much ingest and maintenance may take."""

import re
import warnings
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, ByteSize, Field, model_validator
from pydantic_core import PydanticCustomError

from lakehouse.settings.models.section import Section

_SIZE = re.compile(r"\s*[\d_]*\.?\d[\d_]*\s*[A-Za-z]*\s*")
GONE = "seconds_per_tick"


def _whole(size: object) -> object:
    """A size without anything behind it, which pydantic would pass over: `2 GiB, or 3` was 2 GiB."""
    if isinstance(size, str) and not _SIZE.fullmatch(size):
        raise PydanticCustomError("bad_value", "Should be a number of bytes, or one with a unit, such as 2 GiB")
    return size


Bytes = Annotated[ByteSize, BeforeValidator(_whole)]


class IngestSettings(Section):
    """How much one run may take.

    Attributes:
        max_records_per_run: at most this many Kafka records.
        max_bytes_per_run: at most about this much, estimated from a sample of records; takes units ("2 GiB").
        min_partitions: at least this many Spark tasks, also for a topic with fewer partitions.
    """

    max_records_per_run: int = Field(default=5_000_000, gt=0)
    max_bytes_per_run: Bytes = Field(default=ByteSize(2 * 1024**3), gt=0)
    min_partitions: int = Field(default=4, gt=0)


class MaintenanceSettings(Section):
    """How much maintenance may do, for all tables together.

    Attributes:
        every_seconds: how often the sensor looks.
        bytes_per_tick: at most so much is written anew by what one look starts; takes units ("2 GiB").
        runs_per_tick: at most so many runs.
        in_process_proof: up to so much a rewrite is proven in its own process, more by Spark; takes units.
    """

    every_seconds: int = Field(default=60, ge=30)
    bytes_per_tick: Bytes = Field(default=ByteSize(2 * 1024**3), gt=0)
    runs_per_tick: int = Field(default=1, gt=0)
    in_process_proof: Bytes = Field(default=ByteSize(8 * 1024**3), ge=0)

    @model_validator(mode="before")
    @classmethod
    def _drop_removed_keys(cls, given: Any) -> Any:
        """Earlier releases had `seconds_per_tick` in the file that they shipped: it is passed over, for one release."""
        if not isinstance(given, dict) or GONE not in given:
            return given
        # Of the kinds of warning for what goes, the one that Python shows by itself.
        warnings.warn(
            f"maintenance.{GONE} has no effect and goes with the next release; bytes_per_tick and runs_per_tick bound "
            "what one look starts. Remedy: remove it from conf/lakehouse.yaml, or from the environment.",
            FutureWarning,
            stacklevel=2,
        )
        return {key: value for key, value in cast("dict[str, Any]", given).items() if key != GONE}
