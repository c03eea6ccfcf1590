"""Tables of one audit: a second kind of proof loads none again, and what is wrong stands on tables as they are now.

Guarded mechanism: what was loaded before is looked at anew where a proof fails and a table has gone on meanwhile.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from pyiceberg.exceptions import NoSuchTableError, ServiceUnavailableError
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.cli.commands.prove.audit_tables import AuditTables
from lakehouse.protocol.catalog import Locations
from lakehouse.protocol.catalog.sql_catalog.sql import SqlLakeCatalog
from lakehouse.protocol.errors import MetadataFileDamaged
from lakehouse_tests.proofs.lineage.computed import A, B, Computed


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Table → how often its metadata were loaded."""
    counted, load = Counter[str](), SqlLakeCatalog.load_tables

    def counting(catalog: SqlLakeCatalog, identifiers: Any) -> Any:
        counted.update(".".join(identifier) for identifier in identifiers)
        return load(catalog, identifiers)

    monkeypatch.setattr(SqlLakeCatalog, "load_tables", counting)
    return counted


@dataclass
class Catalog:
    """One table, and where it is by now."""

    location: str = "v1"
    loads: int = 0
    answers: bool = True

    @property
    def metadata_location(self) -> str:
        return self.location

    def load_table(self, identifier: Any) -> Any:
        self.loads += 1
        if self.location == "damaged":
            raise MetadataFileDamaged("raw.a", "v1")
        if not self.location:
            raise NoSuchTableError("raw.a")
        return Loaded(self.location)

    def locations(self, identifiers: Any) -> Locations:
        if not self.answers:
            raise ServiceUnavailableError("no")
        return Locations(dict.fromkeys(identifiers, self.location) if self.location else {})


@dataclass(frozen=True)
class Loaded:
    metadata_location: str


def test_every_kind_of_proof_gets_a_table_from_one_load(lake: Computed, loads: Counter[str]) -> None:
    """But for who reads on from it: that is asked of the table as it is then, by two who load it themselves."""
    result = CliRunner().invoke(app, ["audit", "--scan", A, B])
    assert result.exit_code == 0, result.output
    assert loads[A] == loads[B] == 3


def test_a_table_is_loaded_once_and_anew_only_when_it_is_forgotten() -> None:
    catalog = Catalog()
    tables = AuditTables(catalog)  # pyright: ignore[reportArgumentType]
    assert tables.load(A) is tables.load(A) is tables.load_existing(A)
    assert catalog.loads == 1
    tables.forget()
    assert tables.load(A)
    assert catalog.loads == 2
    assert tables.reload(A)
    assert catalog.loads == 3


def test_a_table_that_does_not_exist_is_asked_for_once_too() -> None:
    catalog = Catalog(location="")
    tables = AuditTables(catalog)  # pyright: ignore[reportArgumentType]
    assert tables.load(A) is tables.load(A) is None
    with pytest.raises(NoSuchTableError, match=A):
        tables.load_existing(A)
    assert catalog.loads == 1


def test_what_cannot_be_read_fails_everybody_who_asks() -> None:
    tables = AuditTables(Catalog(location="damaged"))  # pyright: ignore[reportArgumentType]
    for _ in range(2):
        with pytest.raises(MetadataFileDamaged):
            tables.load(A)


@pytest.mark.parametrize("now", ["v2", ""], ids=["changed", "dropped"])
def test_only_what_was_loaded_before_can_have_gone_on(now: str) -> None:
    catalog = Catalog()
    tables = AuditTables(catalog)  # pyright: ignore[reportArgumentType]
    tables.begin_proof()
    tables.load(A)
    catalog.location = now
    assert not tables.gone_on(), "the proof itself has loaded it"
    tables.begin_proof()
    tables.load(A)
    assert tables.gone_on()
    catalog.answers = False
    assert not tables.gone_on(), "a catalog that does not answer takes nothing back"
