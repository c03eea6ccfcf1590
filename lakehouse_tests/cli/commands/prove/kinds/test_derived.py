"""`lakehouse audit` of derived tables, by name: its exit code is a verdict."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli import app
from lakehouse_tests.cli.commands.prove.kinds.computed_lake import computed_lake
from lakehouse_tests.proofs.audit.document import Document, redigest, seals
from lakehouse_tests.proofs.lineage.computed import DAY, OTHER_DAY, TOP, A, B, C, Computed

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(tmp_path: Path, jars: Path) -> Computed:
    return computed_lake(tmp_path, jars)


def audit(lake: Computed, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["--conf", str(lake.folder.parent / "conf"), "audit", *arguments])


def test_good_is_0_and_tells_of_each_table(lake: Computed) -> None:
    shown = audit(lake)
    assert shown.exit_code == 0, shown.output
    assert "Every promise holds" in shown.output
    assert "2024-05-14" in shown.output
    proofs = json.loads(audit(lake, "--json").output)["derived"]
    assert [proof["table"] for proof in proofs] == [B, C, TOP]
    assert {proof["dates_decided_by"] for proof in proofs} == {"manifests"}
    assert [given["table"] for given in proofs[-1]["inputs"]] == [B, C]
    assert proofs[-1]["snapshot_id"] == lake.head(TOP)


def test_broken_is_1_with_the_place_and_names_select(lake: Computed) -> None:
    lake.compute(B, rows=[OTHER_DAY])
    bad = audit(lake)
    assert bad.exit_code == 1, bad.output
    assert f"BROKEN date_other_date: {B}: " in bad.output
    assert audit(lake, C, TOP).exit_code == 0
    assert json.loads(audit(lake, B, "--json").output)["holds"] is False
    assert audit(lake, "derived.fish").exit_code == 2


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        ({"scanned": {B: 0}}, "lineage_unused_input"),
        ({"dates": {B: OTHER_DAY.isoformat(), C: "2024-05-14"}}, "input_disagrees"),
    ],
)
def test_each_promise_can_break(lake: Computed, statement: dict, finding: str) -> None:
    lake.compute(TOP, **statement)
    bad = audit(lake, TOP)
    assert bad.exit_code == 1
    assert f"BROKEN {finding}: {TOP}" in bad.output


def test_two_versions_are_broken_unless_a_backfill_was_declared(lake: Computed) -> None:
    lake.source()
    lake.compute(C)
    lake.compute(TOP)
    bad = audit(lake, TOP)
    assert bad.exit_code == 1
    assert f"{TOP} ← {B} ← {A}" in bad.output
    lake.compute(TOP, differs="May was late")
    good = audit(lake, TOP)
    assert good.exit_code == 0, good.output
    assert f"BACKFILL (May was late): {TOP}: {A} was read in 2 versions" in good.output


def test_what_has_expired_is_2(lake: Computed) -> None:
    read = lake.head(B)
    lake.compute(B)
    lake.forget(B, read, *lake.before(B, read))
    unsure = audit(lake, TOP)
    assert unsure.exit_code == 2, unsure.output
    assert "has expired" in unsure.output


def test_a_missing_table_is_2_and_one_without_rows_is_good(lake: Computed) -> None:
    lake.compute(TOP, rows=[])
    assert audit(lake, TOP).exit_code == 0
    lake.catalog.drop_table(tuple(TOP.split(".")))
    missing = audit(lake, TOP)
    assert missing.exit_code == 2
    assert "lakehouse apply" in missing.output


def by_hand(lake: Computed, name: str) -> int:
    """An append of the right date, with PyIceberg; returns the snapshot."""
    table = lake.load(name)
    row = {"n": 7, "runtime_date": DAY}
    table.append(pa.Table.from_pylist([row], schema=table.schema().as_arrow()))
    return lake.head(name)


def first_manifest(lake: Computed, name: str) -> Path:
    table = lake.load(name)
    snapshot = table.current_snapshot()
    assert snapshot
    return Path(snapshot.manifests(table.io)[0].manifest_path.removeprefix("file://"))


def test_what_cannot_be_read_hides_no_finding(lake: Computed) -> None:
    """A foreign append, beside a table whose files are cut, and one of which nobody can tell any more."""
    foreign = by_hand(lake, TOP)
    damaged = first_manifest(lake, C)
    damaged.write_bytes(damaged.read_bytes()[:-40])
    lake.forget(B, *lake.before(B, lake.head(B)))
    lake.edit(B, lambda document: document["snapshots"][0]["summary"].update({"lakehouse.runtime_date": "x"}))
    bad = audit(lake)
    assert bad.exit_code == 1, bad.output
    assert f"BROKEN date_unsealed: {TOP}: snapshot {foreign} (append, 1 row added, 0 deleted)" in bad.output
    assert f"BROKEN unreadable_file: {C}: {C}: manifest {damaged.name} cannot be read" in bad.output
    assert f"BROKEN seal_edited: {B}" in bad.output
    assert "Traceback" not in bad.output


@pytest.mark.parametrize("key", ["declared", "scanned", "dates", "computed_by", "computed_from"])
@pytest.mark.parametrize("garbage", ["{", "[1]"])
def test_what_a_seal_says_of_lineage_is_garbage(lake: Computed, key: str, garbage: str) -> None:
    def forge(document: Document) -> None:
        newest = seals(document)[0]
        newest[f"lakehouse.derived.{key}"] = garbage
        redigest(newest)

    lake.edit(B, forge)
    bad = audit(lake)
    assert bad.exit_code == 1, bad.output
    assert f"seal_edited: {B}" in bad.output
    assert "the seal cannot be read" in bad.output


def test_errors_alone_are_2_and_stand_beside_findings(lake: Computed) -> None:
    lake.catalog.drop_table(tuple(C.split(".")))
    unsure = audit(lake)
    assert unsure.exit_code == 2, unsure.output
    assert f"{C}: " in unsure.output
    errors = json.loads(audit(lake, "--json", C).stdout)["errors"]
    assert [(error["kind"], error["name"]) for error in errors] == [("derived", C)]
    foreign = by_hand(lake, B)
    both = audit(lake)
    assert both.exit_code == 1, both.output
    assert f"snapshot {foreign} (append" in both.output
    assert f"NOT PROVEN: {C} " in both.output
