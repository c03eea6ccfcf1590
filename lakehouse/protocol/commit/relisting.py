"""How a rewrite lists the files that it has left as they are: readers must find the same rows by its entries.

A file that is listed twice is read twice. One that is listed with a later sequence number is one that deletes of before
do not apply to any more (specification, "Scan Planning"). One whose entry claims another partition, bound or count is
left out by readers who look for what is in it. So is a whole manifest by its line in the list. None of that shows in
which files there are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table

from lakehouse.iceberg.claims.compared import adds_claims, differing_claim
from lakehouse.iceberg.claims.listed import false_line, line_of, listed_again
from lakehouse.iceberg.entries import is_data, live_entries
from lakehouse.iceberg.manifests.entry_reader import manifests_in

_Entries = Mapping[str, Sequence[ManifestEntry]]


@dataclass(frozen=True)
class Relisting:
    """The entries in which two snapshots differ, by path; a manifest that both list in the same way is left out.

    Args:
        before: of the snapshot that was rewritten.
        after: of the rewrite.
        deletes: whether the snapshot that was rewritten has delete files.
        listing: how the rewrite lists a manifest otherwise than it is; empty where it lists all as they are.
    """

    before: _Entries
    after: _Entries
    deletes: bool
    listing: str = ""

    @classmethod
    def between(cls, table: Table, source: int, head: int) -> "Relisting":
        """From one snapshot to another, both of which are listed."""
        before, after = _manifests(table, source), _manifests(table, head)
        lines_before, lines_after = _lines_by_path(before), _lines_by_path(after)
        differing = {path for path, lines in lines_after.items() if lines != lines_before.get(path)}
        differing |= {path for path in lines_before if path not in lines_after}
        written = [manifest for manifest in after if manifest.manifest_path in differing]
        return cls(
            _by_path(table, (manifest for manifest in before if manifest.manifest_path in differing)),
            _by_path(table, written),
            any(manifest.content == ManifestContent.DELETES for manifest in before),
            listed_again(after) or _false_line(table, written),
        )

    def difference(self) -> str:
        """How what was not written anew is listed otherwise, in words; empty where readers find the same."""
        for path, entries in sorted(self.after.items()):
            if difference := self._difference(entries, self.before.get(path, entries[:1])):
                return f"{path.rpartition('/')[2]} is listed {difference}"
        return self.listing

    def new_files(self) -> list[DataFile]:
        """The data files that were written anew."""
        return [file for path, file in self._data_files() if path not in self.before]

    def new_claims(self) -> list[DataFile]:
        """The data files of which entries claim what those before left open."""
        return [
            file
            for path, file in self._data_files()
            if any(adds_claims(earlier.data_file, file) for earlier in self.before.get(path, ()))
        ]

    def _data_files(self) -> list[tuple[str, DataFile]]:
        files = [(path, entry.data_file) for path, entries in sorted(self.after.items()) for entry in entries]
        return [(path, file) for path, file in files if is_data(file)]

    def _difference(self, entries: Sequence[ManifestEntry], before: Sequence[ManifestEntry]) -> str:
        if len(entries) > len(before):
            return f"{len(entries)} times"
        if self.deletes and {e.sequence_number for e in entries} != {e.sequence_number for e in before}:
            return "with another sequence number, so that deletes may not apply to it any more"
        for entry in entries:
            differences = [differing_claim(earlier.data_file, entry.data_file) for earlier in before]
            if all(differences):
                return f"with {differences[0]}, so that readers may leave its rows out"
        return ""


def _manifests(table: Table, snapshot_id: int) -> list[ManifestFile]:
    snapshot = table.metadata.snapshot_by_id(snapshot_id)
    return manifests_in(table.io, snapshot.manifest_list) if snapshot else []


def _lines_by_path(manifests: Iterable[ManifestFile]) -> Mapping[str, Counter[str]]:
    """Path of each manifest → what is claimed of it, each time that it is listed."""
    lines: dict[str, Counter[str]] = {}
    for manifest in manifests:
        lines.setdefault(manifest.manifest_path, Counter())[line_of(manifest)] += 1
    return lines


def _false_line(table: Table, manifests: Iterable[ManifestFile]) -> str:
    for manifest in manifests:
        if wrong := false_line(table, manifest, list(live_entries(table.io, manifest))):
            return f"{manifest.manifest_path.rpartition('/')[2]} is listed {wrong}"
    return ""


def _by_path(table: Table, manifests: Iterable[ManifestFile]) -> _Entries:
    entries_by_path: dict[str, list[ManifestEntry]] = {}
    for manifest in manifests:
        for entry in live_entries(table.io, manifest):
            entries_by_path.setdefault(entry.data_file.file_path, []).append(entry)
    return entries_by_path
