"""A mirror that is declared otherwise than its tables were made: every remedy that is named works."""

from dataclasses import replace
from pathlib import Path

import pytest

from lakehouse.declarations import Changelog, Mirror, MirrorTables, WouldLoseData, apply, plan
from lakehouse.declarations.mirror import Deletes
from lakehouse.declarations.registry.joining import Collected
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse.steps.cdc.plan.schema_evolution import evolve
from lakehouse.steps.cdc.refusals import ColumnsDiffer
from lakehouse.steps.cdc.verify.audit import audit_mirror
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import BIRDS, LOG, MirroredLake, change, insert

SOFT_AND_HARD: list[tuple[Deletes, Deletes]] = [("hard", "soft"), ("soft", "hard")]


@pytest.fixture
def catalog(tmp_path: Path) -> LakeCatalog:
    return open_catalog(sql_settings(tmp_path))


def mirrored(catalog: LakeCatalog, deletes: Deletes) -> MirroredLake:
    return MirroredLake(catalog, mirror=Mirror(name=BIRDS, changelog=LOG, deletes=deletes))


def filled(catalog: LakeCatalog, deletes: Deletes = "hard") -> MirroredLake:
    lake = mirrored(catalog, deletes)
    lake.ingest(insert(1, 1), insert(2, 2), change("delete", 3, 2))
    lake.apply()
    return lake


@pytest.mark.parametrize(("made", "declared"), SOFT_AND_HARD)
def test_whether_deleted_rows_stay_is_changed_by_making_the_tables_anew(
    catalog: LakeCatalog, made: Deletes, declared: Deletes
) -> None:
    before = filled(catalog, made)
    tables = MirrorTables(replace(before.mirror, deletes=declared), before.log)
    with pytest.raises(ColumnsDiffer) as refused:
        evolve(tables, catalog)
    assert f'declare deletes="{made}" again, or a mirror under another name; or drop its three tables, which' in str(
        refused.value
    )
    assert "ALTER TABLE" not in str(refused.value)
    assert "nullable" not in str(refused.value)
    for table in tables.tables:
        catalog.drop_table(table.identifier)
    after = mirrored(catalog, declared)
    after.changes = before.changes
    after.apply()
    assert evolve(tables, catalog) == []
    assert sorted(row["id"] for row in after.rows()) == ([1, 2] if declared == "soft" else [1])
    assert audit_mirror(catalog, after.tables, after.declarations).holds


@pytest.mark.parametrize(("made", "declared"), SOFT_AND_HARD)
def test_as_it_was_or_under_another_name_a_mirror_goes_on(
    catalog: LakeCatalog, made: Deletes, declared: Deletes
) -> None:
    lake = filled(catalog, made)
    assert evolve(lake.tables, catalog) == []
    other = MirrorTables(Mirror(name="mirror.birds_anew", changelog=lake.log, deletes=declared), lake.log)
    for table in other.tables:
        apply(plan(table, catalog), catalog)
    assert evolve(other, catalog) == []


@pytest.mark.parametrize("key", [("id", "name"), ("name",)])
def test_another_key_is_that_of_another_changelog_and_mirror(catalog: LakeCatalog, key: tuple[str, ...]) -> None:
    lake = filled(catalog)
    tables = MirrorTables(lake.mirror, replace(lake.log, key=key))
    with pytest.raises(ColumnsDiffer) as refused:
        evolve(tables, catalog)
    assert "declare key=('id',) again; or another changelog, of another stream, and another mirror" in str(
        refused.value
    )
    assert "nullable" not in str(refused.value)
    with pytest.raises(WouldLoseData, match="other changelog"):
        plan(tables.tombstones_table, catalog)
    assert evolve(lake.tables, catalog) == []
    collected = Collected()
    log: Changelog = replace(lake.log, name="changelog.birds_anew", key=key, stream="birds_anew")
    for declared in (lake.log, lake.mirror, log, Mirror(name="mirror.birds_anew", changelog=log.name)):
        collected.add(declared, None)  # type: ignore[arg-type]
    declarations = collected.joined()
    for table in declarations.tables.values():
        apply(plan(table, catalog), catalog)
    assert evolve(declarations.mirrors["mirror.birds_anew"], catalog) == []


def test_a_shorter_key_is_refused_by_the_tombstones(catalog: LakeCatalog) -> None:
    log = replace(filled(catalog).log, key=("id", "name"), name="changelog.pairs", stream="pairs")
    made = MirrorTables(Mirror(name="mirror.pairs", changelog=log), log)
    for table in made.tables:
        apply(plan(table, catalog), catalog)
    with pytest.raises(ColumnsDiffer, match=r"declare key=\('id', 'name'\) again") as refused:
        evolve(MirrorTables(made.mirror, replace(log, key=("id",))), catalog)
    assert "ALTER TABLE" not in str(refused.value)
