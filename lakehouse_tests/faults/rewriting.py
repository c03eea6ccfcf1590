"""A rewrite without Spark: all files of a table of a stream as one."""

from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus

from lakehouse.protocol.commit import Replacement
from lakehouse.protocol.seals.base import Base
from lakehouse_tests.proofs.audit.simulated import SimulatedStream
from lakehouse_tests.protocol.commit.rewrites import entries


def merged_files(stream: SimulatedStream, base: Base) -> Replacement:
    """What goes and what comes; `base` has snapshots."""
    source = base.table.metadata.snapshot_by_id(base.snapshot_id or 0)
    assert source
    out = list(entries(base.table).values())
    places = [place for entry in out for place in stream.places(entry.data_file)]
    into: list[ManifestEntry] = []
    for file in stream.files(base.name, places) if places else ():
        file.spec_id = base.table.metadata.default_spec_id
        number = source.sequence_number
        into.append(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, sequence_number=number, data_file=file))
    return Replacement(source=source.snapshot_id, out=tuple(out), into=tuple(into))
