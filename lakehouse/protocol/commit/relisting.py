"""How a rewrite lists the files that it has left as they are: readers must find the same rows by its entries.

A file that is listed twice is read twice. One that is listed with a later sequence number is one that deletes of before
do not apply to any more (specification, "Scan Planning"). One whose entry claims another partition, bound or count is
left out by readers who look for what is in it. None of that shows in which files there are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table

from lakehouse.iceberg.claims.compared import adds_claims, differing_claim
from lakehouse.iceberg.entries import is_data, live_entries
from lakehouse.protocol.commit.replacement import manifests_of

_Entries = Mapping[str, Sequence[ManifestEntry]]


@dataclass(frozen=True)
class Relisting:
    """The entries in which two snapshots differ, by path; a manifest that both have is left out.

    Args:
        before: of the snapshot that was rewritten.
        after: of the rewrite.
        deletes: whether the snapshot that was rewritten has delete files.
    """

    before: _Entries
    after: _Entries
    deletes: bool

    @classmethod
    def between(cls, table: Table, source: int, head: int) -> "Relisting":
        """From one snapshot to another, both of which are listed."""
        source_manifests, head_manifests = manifests_of(table, source), manifests_of(table, head)
        return cls(
            _by_path(table, (m for path, m in source_manifests.items() if path not in head_manifests)),
            _by_path(table, (m for path, m in head_manifests.items() if path not in source_manifests)),
            any(manifest.content == ManifestContent.DELETES for manifest in source_manifests.values()),
        )

    def difference(self) -> str:
        """How a file that was not written anew is listed otherwise, in words; empty where readers find the same."""
        for path, entries in sorted(self.after.items()):
            if difference := self._difference(entries, self.before.get(path, entries[:1])):
                return f"{path.rpartition('/')[2]} is listed {difference}"
        return ""

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


def _by_path(table: Table, manifests: Iterable[ManifestFile]) -> _Entries:
    entries_by_path: dict[str, list[ManifestEntry]] = {}
    for manifest in manifests:
        for entry in live_entries(table.io, manifest):
            entries_by_path.setdefault(entry.data_file.file_path, []).append(entry)
    return entries_by_path
