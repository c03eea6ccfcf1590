"""Is what a list claims of a manifest true of the entries in it? Readers leave out whole manifests by such claims.

They pass over one in which no file is counted, or whose partitions cannot have what they look for. What entries inherit
from the list decides which deletes apply. A claim that is left out is none, and bounds may be looser than the values.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pyiceberg.manifest import (
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    PartitionFieldSummary,
)
from pyiceberg.partitioning import PartitionField
from pyiceberg.table import Table
from pyiceberg.transforms import UnknownTransform, VoidTransform
from pyiceberg.types import PrimitiveType, UUIDType

from lakehouse.iceberg.claims.footer import decoded_bound
from lakehouse.iceberg.entries import is_data

_COUNTED = ((ManifestEntryStatus.ADDED, "added_files_count"), (ManifestEntryStatus.EXISTING, "existing_files_count"))


def line_of(manifest: ManifestFile) -> str:
    """All that a list claims of a manifest, by which two lists are compared."""
    claims = (
        manifest.partition_spec_id,
        manifest.content,
        manifest.sequence_number,
        manifest.min_sequence_number,
        manifest.added_snapshot_id,
        manifest.added_files_count,
        manifest.existing_files_count,
        [(p.contains_null, p.contains_nan, p.lower_bound, p.upper_bound) for p in manifest.partitions or ()],
    )
    return f"{manifest.manifest_path} {claims}"


def listed_again(manifests: Sequence[ManifestFile]) -> str:
    """The first manifest that is in a list more than once, in words; empty where none is."""
    counts = Counter(manifest.manifest_path for manifest in manifests)
    again = ((path, count) for path, count in counts.items() if count > 1)
    return next((f"{path.rpartition('/')[2]} is listed {count} times" for path, count in again), "")


def false_line(table: Table, manifest: ManifestFile, entries: Sequence[ManifestEntry]) -> str:
    """The first claim of a manifest that its live entries contradict, in words without values; empty where none is.

    Args:
        table: whose list it is.
        manifest: as it is listed.
        entries: all of it that are live.
    """
    fields = table.specs()[manifest.partition_spec_id].fields if manifest.partition_spec_id in table.specs() else None
    if not entries:
        return ""
    if fields is None or any(len(entry.data_file.partition) != len(fields) for entry in entries):
        return "with another partition spec"
    return _false_shape(manifest, entries) or next(
        (
            f"with {wrong} of {table.schema().find_column_name(field.source_id) or field.name} that leaves out a file"
            for field, summary, values in _partitions(fields, manifest, entries)
            if (wrong := _wrong_summary(_type_of(table, field), summary, values))
        ),
        "",
    )


def _false_shape(manifest: ManifestFile, entries: Sequence[ManifestEntry]) -> str:
    if any(is_data(entry.data_file) != (manifest.content == ManifestContent.DATA) for entry in entries):
        return "with the other content"
    if all(_is_uncounted(manifest, entry.status) for entry in entries):
        return "with none of its files counted"
    numbers = [entry.sequence_number for entry in entries if entry.sequence_number is not None]
    if numbers and manifest.min_sequence_number > min(numbers):
        return "with a least sequence number that is not the least"
    return ""


def _is_uncounted(manifest: ManifestFile, status: ManifestEntryStatus) -> bool:
    return any(getattr(manifest, attribute) == 0 for counted, attribute in _COUNTED if counted == status)


def _partitions(
    fields: Sequence[PartitionField], manifest: ManifestFile, entries: Sequence[ManifestEntry]
) -> Iterator[tuple[PartitionField, PartitionFieldSummary, set[Any]]]:
    """Each field of the partitions, what the list says of it, and its values."""
    for index, (field, summary) in enumerate(zip(fields, manifest.partitions or (), strict=False)):
        if not isinstance(field.transform, VoidTransform | UnknownTransform):
            yield field, summary, {entry.data_file.partition[index] for entry in entries}


def _wrong_summary(kind: PrimitiveType | None, summary: PartitionFieldSummary, values: set[Any]) -> str:
    nans = {value for value in values if value != value}  # noqa: PLR0124 - NaN alone is so
    bounded = values - nans - {None}
    left_out = {
        "no null": None in values and not summary.contains_null,
        "no NaN": bool(nans) and summary.contains_nan is False,
        "no value": bool(bounded) and summary.lower_bound is None,
    }
    wrong = next((claim for claim, is_wrong in left_out.items() if is_wrong), "")
    return wrong if wrong or kind is None or not bounded else _wrong_bound(kind, summary, bounded)


def _wrong_bound(kind: PrimitiveType, summary: PartitionFieldSummary, values: set[Any]) -> str:
    lower, upper = (decoded_bound(kind, bound) for bound in (summary.lower_bound, summary.upper_bound))
    inside = [value.encode() if isinstance(value, str) else value for value in values]
    if any(type(end) is not type(inside[0]) for end in (lower, upper) if end is not None):
        return "a bound of another type"
    if lower is not None and min(inside) < lower:
        return "a lower bound"
    return "an upper bound" if upper is not None and max(inside) > upper else ""


def _type_of(table: Table, field: PartitionField) -> PrimitiveType | None:
    """Of a field whose values and bounds can be compared; None where its column is gone, or is read in two ways."""
    if field.source_id not in table.schema().field_ids:
        return None
    kind = field.transform.result_type(table.schema().find_type(field.source_id))
    return kind if isinstance(kind, PrimitiveType) and not isinstance(kind, UUIDType) else None
