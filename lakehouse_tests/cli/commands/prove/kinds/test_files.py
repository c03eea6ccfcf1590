"""`lakehouse audit` asks storage for every file of every declared table; `--scan` reads each.

Guarded mechanism: a file that was removed, emptied, cut or written anew, or holds another number of rows than counted.
"""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli import app
from lakehouse.cli.commands.prove import audit_proofs as command
from lakehouse.cli.commands.prove.audit_scope import Kind
from lakehouse.cli.commands.prove.kinds.files import FilesProof
from lakehouse.iceberg.entries import EntryWriter, live_entries
from lakehouse.proofs.audit import Finding
from lakehouse_tests.proofs.audit.document import Document, ancestry
from lakehouse_tests.proofs.lineage.computed import DAY, A, B, C, Computed
from lakehouse_tests.steps.maintenance.verify.test_foreign_rewrites import OTHER_CLAIMS


def audit(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["audit", *arguments])


def file_of(lake: Computed, name: str) -> Path:
    (task,) = lake.load(name).scan().plan_files()
    return Path(task.file.file_path.removeprefix("file://"))


def one_row(path: Path) -> None:
    pq.write_table(pq.ParquetFile(path).read().slice(0, 1), pa.OSFile(str(path), "wb"))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "removed": (Path.unlink, "is in the table, and not in storage"),
    "emptied": (lambda path: path.write_bytes(b""), "cannot be read"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-20]), "cannot be read"),
    "other rows": (one_row, "holds 1 rows, and 2 are counted in it"),
}


@pytest.mark.parametrize("name", [A, B])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_not_as_it_was_is_named(lake: Computed, name: str, damage: str) -> None:
    path, (spoil, message) = file_of(lake, name), DAMAGES[damage]
    spoil(path)
    result = audit("--scan")
    assert result.exit_code == 1, result.output
    assert f"{name}: data file {path.name} {message}" in result.output


@pytest.mark.parametrize("name", [A, B])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_gone_or_of_another_size_is_named_without_reading_any(
    lake: Computed, name: str, damage: str
) -> None:
    path, (spoil, _) = file_of(lake, name), DAMAGES[damage]
    size = path.stat().st_size
    spoil(path)
    now = f"has {path.stat().st_size:,} bytes, and {size:,} are listed" if path.exists() else "is in the table, and not"
    result = audit()
    assert result.exit_code == 1, result.output
    assert f"{name}: data file {path.name} {now}" in result.output
    assert "Remedy: " in result.output


def test_what_a_tag_keeps_is_asked_for_as_well(lake: Computed) -> None:
    path = file_of(lake, B)
    lake.load(B).manage_snapshots().create_tag(lake.head(B), "release-1").commit()
    lake.compute(B)
    path.unlink()
    result = audit()
    assert result.exit_code == 1, result.output
    assert result.output.count(f"{B}: data file {path.name} is in the table, and not in storage. The tag") == 1


def test_a_manifest_that_claims_what_is_not_true_of_its_file(lake: Computed) -> None:
    """Whichever way it came: here with a seal above it, as if our own step had written it."""
    table = lake.load(A)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    (manifest,) = snapshot.manifests(table.io)
    (entry,) = live_entries(table.io, manifest)
    OTHER_CLAIMS["lower bound"](entry.data_file)
    output = table.io.new_output(manifest.manifest_path)
    with EntryWriter(table.spec(), table.schema(), output, snapshot.snapshot_id, "null") as writer:
        writer.existing(entry)
    result = audit("--scan")
    assert result.exit_code == 1, result.output
    message = f"{A}: data file {file_of(lake, A).name} is listed with a wrong lower bound of column n, so that readers"
    assert f"BROKEN misdescribed_file: {A}: {message}" in result.output


@pytest.mark.parametrize("name", [A, B])
def test_a_manifest_that_is_cut_is_named_once_however_many_proofs_read_it(lake: Computed, name: str) -> None:
    table = lake.load(name)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    (manifest,) = snapshot.manifests(table.io)
    cut(path := Path(manifest.manifest_path.removeprefix("file://")))
    result = audit("--scan")
    assert result.exit_code == 1, result.output
    assert result.output.count(path.name) == 1, result.output


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_a_tag_keeps_is_looked_at_after_the_table_has_gone_on(lake: Computed, damage: str) -> None:
    """Readers of a release read that snapshot."""
    path, (spoil, words) = file_of(lake, B), DAMAGES[damage]
    lake.load(B).manage_snapshots().create_tag(lake.head(B), "release-1").commit()
    lake.compute(B)
    spoil(path)
    result = audit("--scan")
    assert result.exit_code == 1, result.output
    assert f"{B}: data file {path.name} {words}" in result.output
    assert result.output.count("The tag release-1 keeps it.") == 1


def test_one_that_is_gone_hides_no_commit_of_a_stranger(lake: Computed) -> None:
    file_of(lake, A).unlink()
    lake.load(B).delete("n = 0")
    result = audit("--scan")
    assert result.exit_code == 1
    assert f"{A}: data file" in result.output
    assert f"{B}: snapshot {lake.head(B)} (" in result.output


def test_what_is_whole_holds(lake: Computed) -> None:
    assert audit(A, B, "--scan").exit_code == 0


def emptied(path: Path) -> str:
    path.write_bytes(b"")
    return "unreadable_file"


def cut(path: Path) -> str:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return "unreadable_file"


def cut_gzip(path: Path) -> str:
    path.write_bytes(gzip.compress(path.read_bytes())[:-20])
    return "unreadable_file"


def a_list(path: Path) -> str:
    path.write_bytes(b"[]")
    return "unreadable_file"


def removed(path: Path) -> str:
    path.unlink()
    return "missing_file"


def contradictory(path: Path) -> str:
    document = json.loads(path.read_text())
    document["partition-specs"] *= 2
    path.write_text(json.dumps(document))
    return "unreadable_file"


@pytest.mark.parametrize("damage", [emptied, cut, cut_gzip, a_list, removed, contradictory])
def test_a_damaged_metadata_file_is_a_finding(lake: Computed, damage: Callable[[Path], str]) -> None:
    """Of the table whose it is, told once, whichever promises need it; all others are judged."""
    path = Path(lake.load(A).metadata_location.removeprefix("file://"))
    kind = damage(path)
    lake.load(B).delete("n = 0")
    result = audit()
    assert result.exit_code == 1, result.output
    assert result.output.count(f"BROKEN {kind}: {A}: {A}: metadata file {path.name} ") == 1
    assert "Remedy: restore the file" in result.output
    assert f"{B}: snapshot {lake.head(B)} (" in result.output
    assert "NOT PROVEN" not in result.output
    verdict = json.loads(audit("--json").stdout)
    assert [(entry["kind"], entry["table"]) for entry in verdict["unreadable"]] == [(kind, A)]


def test_an_older_list_of_manifests_is_named(lake: Computed) -> None:
    """The seal says how many rows the run left; the list that is read has those of a run before."""
    lake.compute(C, rows=[DAY], total="1")
    lake.compute(C, rows=[DAY, DAY, DAY], total="3")
    assert audit(C).exit_code == 0

    def exchange(document: Document) -> None:
        newest, *before = ancestry(document)
        older = next(snapshot for snapshot in before if "lakehouse.run_id" in snapshot["summary"])
        newest["manifest-list"] = older["manifest-list"]

    lake.edit(C, exchange)
    result = audit(C)
    assert result.exit_code == 1, result.output
    assert f"BROKEN rows_differ: {C}: {C}: its files list" in result.output


def test_what_expiry_took_while_it_was_read_is_not_lost(lake: Computed, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = FilesProof(A, scanned=True, findings=(Finding("missing_file", f"{A}: data file x is not in storage.", A),))
    looks = iter([gone, FilesProof(A, scanned=True)])
    once = Kind("files", lambda _: [A], lambda auditing, name: next(looks), lambda context, proofs: None)
    monkeypatch.setattr(command, "KINDS", (once,))
    assert audit().exit_code == 0
    for_good = replace(once, prove=lambda auditing, name: gone)
    monkeypatch.setattr(command, "KINDS", (for_good,))
    assert audit().exit_code == 1


WRONG_FIELDS: dict[str, Callable[[Document], None]] = {
    "no snapshot": lambda document: document["snapshots"].append(None),
    "an id that is a list": lambda document: document["snapshots"][0].update({"snapshot-id": [1]}),
    "a time that is text": lambda document: document["snapshots"][0].update({"timestamp-ms": "hunter2"}),
    "no references": lambda document: document.update({"refs": None}),
    "no properties": lambda document: document.update({"properties": None}),
    "no such version": lambda document: document.update({"format-version": 9}),
}


@pytest.mark.parametrize("change", WRONG_FIELDS.values(), ids=WRONG_FIELDS)
def test_a_metadata_file_with_a_wrong_field_is_named_in_one_line(
    lake: Computed, change: Callable[[Document], None]
) -> None:
    lake.edit(B, change)
    (path,) = lake.catalog.locations([tuple(B.split("."))]).known.values()
    result = audit(B)
    assert result.exit_code == 1, result.output
    (line,) = (line for line in result.output.splitlines() if line.startswith("BROKEN"))
    assert f"BROKEN unreadable_file: {B}: {B}: metadata file {path.rpartition('/')[2]} cannot be read (" in line
    assert "Remedy: restore the file from a backup" in line
    assert "hunter2" not in result.output
