"""Which data files of a table are written anew, and how: the part of its maintenance with the most numbers."""

from dataclasses import InitVar, dataclass
from datetime import timedelta
from typing import Literal

from lakehouse.declarations.policies import policy_rules as may

Strategy = Literal["auto", "binpack", "sort", "zorder"]

MIB = 1024**2
_ZORDERED = may.FieldRule(
    "a tuple of names of columns, not empty, for the strategy 'zorder'",
    lambda value: may.NAMES.holds(value) and bool(value),
)
_NOT_ZORDERED = may.FieldRule("() but for the strategy 'zorder'", lambda value: value == ())


@dataclass(frozen=True, kw_only=True)
class Rewrite:
    """Which data files are written anew, and how.

    Attributes:
        strategy: `binpack`, `sort` (by the table's sort order) or `zorder`; `auto` sorts where there is a sort order.
        zorder_by: columns, for `zorder`.
        target_file_size: bytes that a data file should have.
        min_file_size_ratio: a file below this share of the target is too small.
        max_file_size_ratio: a file above this multiple of the target is too large.
        min_input_files: so many files that are too small are worth a rewrite of their partition.
        delete_file_threshold: so many delete files that apply to a partition are worth one.
        delete_ratio_threshold: so is this share of its rows deleted.
        max_group_bytes: at most so many bytes in one action.
        to_format: `parquet`: files of other formats are written anew as well.
        quiet_for: a partition is left alone until its last change is older than this.
        every_commits: also after every so many appends, by the ingest itself.
        equality_writer_gone: whoever wrote equality deletes writes no more. Until then partitions that have some are
            left alone: one that is committed during a rewrite would be lost (iceberg #10312).
    """

    strategy: Strategy = "auto"
    zorder_by: tuple[str, ...] = ()
    target_file_size: int = 128 * MIB
    min_file_size_ratio: float = 0.75
    max_file_size_ratio: float = 1.8
    min_input_files: int = 5
    delete_file_threshold: int = 1
    delete_ratio_threshold: float = 0.3
    max_group_bytes: int = 2048 * MIB
    to_format: Literal["parquet"] | None = None
    quiet_for: timedelta = timedelta(minutes=15)
    every_commits: int | None = None
    equality_writer_gone: bool = False
    min_gain_per_mib: InitVar[float | None] = None

    def __post_init__(self, min_gain_per_mib: float | None) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        may.require(
            self,
            strategy=may.one_of("auto", "binpack", "sort", "zorder"),
            zorder_by=_ZORDERED if self.strategy == "zorder" else _NOT_ZORDERED,
            target_file_size=may.size(MIB // 1024),
            min_file_size_ratio=may.number("above 0 and below 1", lambda value: 0 < value < 1),
            max_file_size_ratio=may.number("above 1", lambda value: value > 1),
            min_input_files=may.whole(2),
            delete_file_threshold=may.whole(1),
            delete_ratio_threshold=may.number("above 0 and at most 1", lambda value: 0 < value <= 1),
            max_group_bytes=may.size(self.target_file_size, also=" (target_file_size)"),
            to_format=may.one_of("parquet") | may.NONE,
            quiet_for=may.time(),
            every_commits=may.whole(1) | may.NONE,
            equality_writer_gone=may.FLAG,
        )
        if min_gain_per_mib is not None:
            may.warn_of_gone(
                "Rewrite.min_gain_per_mib",
                "a rewrite is due where a threshold is passed and half of the files would go",
            )

    @property
    def min_file_size(self) -> int:
        """Bytes below which a file is too small: Iceberg's `min-file-size-bytes`."""
        return int(self.target_file_size * self.min_file_size_ratio)

    @property
    def max_file_size(self) -> int:
        """Bytes above which a file is too large: Iceberg's `max-file-size-bytes`."""
        return int(self.target_file_size * self.max_file_size_ratio)
