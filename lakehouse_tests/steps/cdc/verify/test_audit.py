"""The whole proof of a mirror: what cannot be loaded is named, and hides nothing of the tables beside it."""

from dataclasses import replace
from pathlib import Path

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.cdc.verify.audit import MirrorProof, audit_mirror
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import BIRDS, LOG, REFUSED, TOMBSTONES, MirroredLake, insert, joined_of


@pytest.fixture
def lake(tmp_path: Path) -> MirroredLake:
    made = MirroredLake(open_catalog(sql_settings(tmp_path)))
    made.ingest(insert(1, 1), insert(2, 2))
    return made


def audit(lake: MirroredLake) -> MirrorProof:
    return audit_mirror(lake.catalog, lake.tables, lake.declarations)


def drop(lake: MirroredLake, name: str) -> None:
    lake.catalog.drop_table(tuple(name.split(".")))


def test_a_mirror_that_is_whole(lake: MirroredLake) -> None:
    lake.apply()
    proof = audit(lake)
    assert (proof.holds, proof.errors) == (True, ())


@pytest.mark.parametrize("name", [BIRDS, TOMBSTONES, REFUSED])
def test_a_table_that_was_dropped_is_a_broken_promise(lake: MirroredLake, name: str) -> None:
    lake.apply()
    drop(lake, name)
    proof = audit(lake)
    assert [(finding.kind, finding.table) for finding in proof.findings] == [("table_gone", name)]
    assert any(f"without {name}" in error for error in proof.errors)


def test_what_was_done_to_a_sibling_is_named_beside_it(lake: MirroredLake) -> None:
    lake.apply()
    drop(lake, TOMBSTONES)
    lake.tamper(BIRDS, [row | {"name": "raven"} for row in lake.rows()])
    assert {"table_gone", "unsealed_commit"} <= {finding.kind for finding in audit(lake).findings}


def test_a_mirror_that_was_never_made_is_no_broken_promise(lake: MirroredLake) -> None:
    drop(lake, BIRDS)
    proof = audit(lake)
    assert proof.holds
    assert any(BIRDS in error and "lakehouse apply" in error for error in proof.errors)


def test_without_its_changelog_nobody_can_say(lake: MirroredLake) -> None:
    lake.apply()
    drop(lake, LOG)
    proof = audit(lake)
    assert proof.holds
    assert any(f"{LOG} does not exist" in error for error in proof.errors)


def test_a_mirror_that_is_declared_otherwise_is_not_accused(lake: MirroredLake) -> None:
    lake.apply()
    soft = replace(lake.mirror, deletes="soft")
    tables = joined_of(soft, lake.log).mirrors[BIRDS]
    proof = audit_mirror(lake.catalog, tables, lake.declarations)
    assert proof.holds
    [error] = proof.errors
    assert 'declared with deletes="soft", and its tables were made with deletes="hard"' in error
    assert 'Remedy: declare deletes="hard" again' in error


def test_a_document_that_was_cut(lake: MirroredLake) -> None:
    lake.apply()
    location = lake.catalog.load_table(tuple(TOMBSTONES.split("."))).metadata_location
    Path(location.removeprefix("file://")).write_bytes(b"{")
    lake.tamper(BIRDS, [row | {"name": "raven"} for row in lake.rows()])
    assert {"unreadable_file", "unsealed_commit"} <= {finding.kind for finding in audit(lake).findings}
