"""Keys, references, row counts and contract rules: each passes on a right table, fails on a wrong one, and says why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlparse

import dagster as dg
import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pandera.api.checks import Check
from pyiceberg.exceptions import NoSuchTableError

from lakehouse.contracts.rules.stored.references import NotComparable
from lakehouse.declarations import Declarations, References, Rows
from lakehouse.orchestration.checks.rules.judges import rule_judges
from lakehouse.orchestration.checks.table_question import Judge, TableCheckRun
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES
from lakehouse.orchestration.resources import Lake
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.derived.statement import DeriveStatement
from lakehouse_tests.contracts.rules.conftest import Contracted, declare, either, make_contract
from lakehouse_tests.fixtures.lakes import Lake as Stored
from lakehouse_tests.fixtures.spark import SparkOn

__all__ = ["either"]

pytestmark = pytest.mark.spark

TEXT, KEY = T.StringType(), pandera.Column(T.LongType(), nullable=False)
PLANE = pandera.Column(TEXT, nullable=False)


@dataclass
class Judged:
    """Tables of one catalog, and what their checks say."""

    stored: Stored
    spark_on: SparkOn
    tables: dict[str, Contracted] = field(default_factory=dict[str, Contracted])
    derived: dict[str, Any] = field(default_factory=dict[str, Any])
    instance: dg.DagsterInstance = field(default_factory=dg.DagsterInstance.ephemeral)

    def table(self, name: str, columns: Mapping[str, Any], **more: Any) -> Contracted:
        """Declare and create a table."""
        self.tables[name] = made = make_contract(self.stored, self.spark_on, columns, name=name, **more)
        return made

    @property
    def declarations(self) -> Declarations:
        """All of them."""
        tables = {name: table.declared for name, table in self.tables.items()}
        return Declarations(tables=tables, streams={}, files=dict.fromkeys(tables, Path()), derived=self.derived)

    def judges(self, name: str) -> dict[str, Judge]:
        """The checks of a table."""
        return {judge.name: judge for judge in rule_judges(self.tables[name].declared, self.declarations)}

    def ask(self, name: str, check: str) -> dg.AssetCheckResult:
        """Answer one."""
        lake = Lake(SimpleNamespace(declarations=()), self.declarations, DEFAULT_NAMES)  # type: ignore[arg-type]
        vars(lake)["catalog"] = self.stored.catalog
        contracted = self.tables[name]
        return self.judges(name)[check].answer(
            TableCheckRun(lake, contracted.declared, contracted.session, self.instance, print, "run")
        )

    def store(self, check: str, result: dg.AssetCheckResult) -> None:
        """Keep an answer, as Dagster does."""
        assert result.asset_key
        evaluation = dg.AssetCheckEvaluation(
            asset_key=result.asset_key, check_name=check, passed=result.passed, metadata=result.metadata
        )
        self.instance.report_runless_asset_event(evaluation)


@pytest.fixture
def judged(sql_lake: Stored, spark_on: SparkOn) -> Judged:
    return Judged(sql_lake, spark_on)


@pytest.fixture
def judged_on_either(sql_lake: Stored, either: SparkOn) -> Judged:
    return Judged(sql_lake, either)


def value(result: dg.AssetCheckResult, key: str) -> Any:
    return result.metadata[key].value


def records(result: dg.AssetCheckResult, key: str) -> list[Mapping[str, Any]]:
    recorded = result.metadata[key]
    assert isinstance(recorded, dg.TableMetadataValue)
    return [record.data for record in recorded.records]


def shown(result: dg.AssetCheckResult) -> str:
    return f"{result.description} " + " ".join(str(entry.value) for entry in result.metadata.values())


def flights(judged: Judged, tailnums: Sequence[str | None], **more: Any) -> Contracted:
    expects = (References(columns=("tailnum",), table="raw.planes", to=("plane",), severity="warning"),)
    columns = {"id": KEY, "tailnum": pandera.Column(TEXT, nullable=True)}
    made = judged.table("raw.flights", columns, **{"key": ("id",), "expects": expects, **more})
    if tailnums:
        made.append([{"id": n, "tailnum": tailnum} for n, tailnum in enumerate(tailnums)])
    return made


def test_each_key_once(judged_on_either: Judged) -> None:
    made = flights(judged_on_either, ["N1", "N1", None])
    judged_on_either.table("raw.planes", {"plane": PLANE})
    good = judged_on_either.ask("raw.flights", "unique_key")
    assert good.passed
    assert value(good, "rows") == 3
    made.append([{"id": n, "tailnum": "N9"} for n in (0, 0, 2, 7)])
    bad = judged_on_either.ask("raw.flights", "unique_key")
    assert not bad.passed
    assert bad.severity is dg.AssetCheckSeverity.ERROR
    assert value(bad, "snapshot id") == str(made.head)
    assert (value(bad, "keys more than once"), value(bad, "rows too many")) == (2, 3)
    assert "id=0: 3 rows; id=2: 2 rows" in str(bad.description)
    assert all(jobs == 1 for jobs in made.jobs), "on classic, where they can be counted"


def test_a_new_row_with_an_old_key_is_found_without_the_files_that_cannot_hold_it(judged: Judged) -> None:
    made = judged.table("raw.flights", {"id": KEY}, key=("id",))
    made.append([{"id": n} for n in range(10)])
    made.append([{"id": n} for n in range(10, 20)])
    good = judged.ask("raw.flights", "unique_key")
    judged.store("unique_key", good)
    assert judged.ask("raw.flights", "unique_key").passed
    assert made.jobs == [1], "where nothing was added, nothing is asked"
    made.append([{"id": 12}, {"id": 25}])
    for task in judged.stored.load("raw.flights").scan("id < 10").plan_files():
        Path(urlparse(task.file.file_path).path).unlink()
    bad = judged.ask("raw.flights", "unique_key")
    assert not bad.passed
    assert "id=12: 2 rows" in str(bad.description)
    assert (value(good, "rows since snapshot"), value(bad, "rows since snapshot")) == (
        "all",
        value(good, "snapshot id"),
    )
    assert value(bad, "rows") == 22


def test_what_was_proven_of_another_key_or_before_a_delete_is_not_proven(judged: Judged) -> None:
    made = judged.table("raw.flights", {"id": KEY, "day": KEY}, key=("id", "day"))
    made.append([{"id": 1, "day": 1}, {"id": 1, "day": 2}])
    judged.store("unique_key", judged.ask("raw.flights", "unique_key"))
    made.declared = replace(made.declared, key=("id",))
    assert not judged.ask("raw.flights", "unique_key").passed
    made.sql("DELETE FROM lake.raw.flights WHERE day = 2")
    judged.store("unique_key", good := judged.ask("raw.flights", "unique_key"))
    assert good.passed
    made.sql("DELETE FROM lake.raw.flights WHERE day = 1")
    assert value(judged.ask("raw.flights", "unique_key"), "rows since snapshot") == "all"


def test_keys_of_several_columns_and_with_something_to_hide(judged: Judged) -> None:
    who = pandera.Column(TEXT, nullable=False, metadata={"sensitive": True})
    made = judged.table("raw.visits", {"who": who, "day": KEY}, key=("who", "day"))
    made.append([{"who": "Ann Smith", "day": 1}, {"who": "Ann Smith", "day": 2}, {"who": "Bob", "day": 1}])
    assert judged.ask("raw.visits", "unique_key").passed
    made.append([{"who": "Ann Smith", "day": 2}])
    bad = judged.ask("raw.visits", "unique_key")
    assert "day=2: 2 rows" in str(bad.description)
    assert "Ann" not in shown(bad)


def test_what_refers_to_nothing_is_counted_with_its_values(judged_on_either: Judged) -> None:
    made = flights(judged_on_either, ["N1", "N2", "N2", "X9", "X9", "X9", "Y1", None, None])
    planes = judged_on_either.table("raw.planes", {"plane": PLANE})
    planes.append([{"plane": "N1"}, {"plane": "N2"}, {"plane": "N2"}])
    result = judged_on_either.ask("raw.flights", "references_raw_planes")
    assert not result.passed
    assert result.severity is dg.AssetCheckSeverity.WARN
    assert (value(result, "rows"), value(result, "rows that refer to nothing"), value(result, "missing values")) == (
        9,
        4,
        2,
    )
    assert value(result, "share") == pytest.approx(4 / 9, abs=1e-6)
    assert [record["missing"] for record in records(result, "examples")] == [
        "tailnum=X9: 3 rows",
        "tailnum=Y1: 1 rows",
    ]
    assert value(result, "snapshot id") == str(made.head)
    assert value(result, "snapshot id of raw.planes") == str(planes.head)
    assert not judged_on_either.judges("raw.flights")["references_raw_planes"].blocking
    planes.append([{"plane": "X9"}, {"plane": "Y1"}])
    assert judged_on_either.ask("raw.flights", "references_raw_planes").passed
    assert all(jobs <= 2 for jobs in made.jobs), "one, and one that hands out the smaller table"


def test_the_other_table_is_taken_as_it_was_read(judged: Judged) -> None:
    made = flights(judged, ["N1", "N2"])
    planes = judged.table("raw.planes", {"plane": PLANE})
    planes.append([{"plane": "N1"}])
    read = planes.head
    planes.append([{"plane": "N2"}])
    assert judged.ask("raw.flights", "references_raw_planes").passed, "nobody says what was read"
    base = read_bases(made.catalog, ["raw.flights"])["raw.flights"]
    attempt = Attempt("run", "derive:raw.flights")
    sealed = Seal.of(attempt, "derive", statement={}, previous=None, inputs={"raw.planes": read})
    publish(made.catalog, [seal_branch(made.catalog, base, attempt, sealed)])
    result = judged.ask("raw.flights", "references_raw_planes")
    assert not result.passed, "what came later was not there to be referred to"
    assert value(result, "snapshot id of raw.planes") == str(read)


def test_a_table_that_does_not_exist_yet_has_nothing_to_refer_to(judged: Judged) -> None:
    flights(judged, ["N1", None])
    planes = judged.table("raw.planes", {"plane": PLANE})
    for _ in ("empty", "absent"):
        result = judged.ask("raw.flights", "references_raw_planes")
        assert not result.passed
        assert value(result, "rows that refer to nothing") == 1
        assert "raw.planes holds no rows yet" in str(result.description)
        if judged.stored.catalog.table_exists(planes.declared.identifier):
            judged.stored.catalog.drop_table(planes.declared.identifier)


def test_references_of_several_columns_which_are_sensitive(judged: Judged) -> None:
    hidden = pandera.Column(TEXT, nullable=True, metadata={"sensitive": True})
    expects = (
        References(columns=("name", "day"), table="raw.people", to=("who", "since")),
        References(columns=("day",), table="raw.people", to=("since",)),
        References(columns=("share",), table="raw.people"),
    )
    share = {"share": T.DoubleType()}
    made = judged.table("raw.visits", {"name": hidden, "day": T.IntegerType(), **share}, expects=expects)
    people = judged.table("raw.people", {"who": hidden, "since": T.LongType(), **share})
    people.append([{"who": "Ann", "since": 1, "share": 0.0}, {"who": "Bob", "since": 2}])
    shares = iter([-0.0, float("nan"), None])
    made.append([{"name": who, "day": day, "share": next(shares)} for who, day in [("Ann", 1), ("Ann", 2), (None, 9)]])
    names = [f"references_raw_people_{columns}" for columns in ("name_day", "day", "share")]
    assert list(judged.judges("raw.visits")) == names
    result = judged.ask("raw.visits", "references_raw_people_name_day")
    assert value(result, "rows that refer to nothing") == 1
    assert result.severity is dg.AssetCheckSeverity.ERROR
    assert "Ann" not in shown(result)
    assert "day=2" in shown(result)
    assert value(judged.ask("raw.visits", "references_raw_people_day"), "rows that refer to nothing") == 1
    result = judged.ask("raw.visits", "references_raw_people_share")
    assert records(result, "examples") == [{"missing": "share=NaN: 1 rows"}], (
        "what is no number is a value all the same"
    )


def test_columns_that_cannot_be_compared_are_an_error_and_no_verdict(judged: Judged) -> None:
    flights(judged, ["N1"])
    judged.table("raw.planes", {"plane": KEY})
    with pytest.raises(NotComparable, match=r"tailnum is string and refers to raw\.planes\.plane, which is bigint"):
        judged.ask("raw.flights", "references_raw_planes")


def test_the_number_of_rows_is_read_from_the_summary(judged: Judged, tmp_path: Path) -> None:
    made = judged.table("raw.things", {"id": KEY}, expects=(Rows(least=2, most=3), Rows(most=4, severity="warning")))
    assert not judged.ask("raw.things", "row_count").passed
    for rows, (passed, severity) in {
        2: (True, dg.AssetCheckSeverity.ERROR),
        4: (False, dg.AssetCheckSeverity.ERROR),
    }.items():
        made.append([{"id": n} for n in range(2)])
        result = judged.ask("raw.things", "row_count")
        assert (result.passed, result.severity) == (passed, severity)
        assert (value(result, "rows"), value(result, "answered from")) == (rows, "summary")
    made.without_data(tmp_path)
    assert value(judged.ask("raw.things", "row_count"), "rows") == 4
    assert made.sessions == 0


def test_rows_are_counted_where_deletes_leave_their_number_open(judged: Judged) -> None:
    properties = {"write.delete.mode": "merge-on-read"}
    made = judged.table("raw.things", {"id": KEY}, expects=(Rows(most=3),), properties=properties)
    made.append([{"id": n} for n in range(5)])
    made.sql("DELETE FROM lake.raw.things WHERE id < 2")
    result = judged.ask("raw.things", "row_count")
    assert result.passed
    assert value(result, "rows") == 3
    assert value(result, "answered from") == "scan"
    assert made.jobs == [1]


def test_before_the_first_row_every_check_passes_without_spark(judged: Judged) -> None:
    made = flights(judged, [])
    judged.table("raw.planes", {"plane": PLANE})
    judged.derived["raw.flights"] = "something computes it"
    assert set(judged.judges("raw.flights")) == {"contract_rules", "unique_key", "references_raw_planes"}
    for check in judged.judges("raw.flights"):
        result = judged.ask("raw.flights", check)
        assert result.passed
        assert value(result, "snapshot id") == "none"
    assert made.sessions == 0


def test_a_missing_table_is_no_verdict(judged: Judged) -> None:
    made = flights(judged, [])
    judged.stored.catalog.drop_table(made.declared.identifier)
    with pytest.raises(NoSuchTableError):
        judged.ask("raw.flights", "unique_key")


SHARE = pandera.Column(T.DoubleType(), Check.le(1.0), nullable=True, metadata={"severity": "warning"})
RULES = {"id: required, but null": ("error", 0), "share: less_than_or_equal_to(1.0)": ("warning", 7)}


def seal(made: Contracted, rules: Mapping[str, tuple[str, int]], **more: Any) -> int:
    """Publish a derivation's seal that says so."""
    base: Base = read_bases(made.catalog, [made.declared.name])[made.declared.name]
    attempt = Attempt(run_id="run", step="derive:things")
    outcomes = {name: {"severity": severity, "broken": broken} for name, (severity, broken) in rules.items()}
    statement = DeriveStatement(**{"mode": "full", "added": 9, "total": 9, "rules": outcomes, **more})
    previous = base.sealed.seal if base.sealed else None
    sealed = Seal.of(attempt, "derive", statement=statement.to_keys(), previous=previous)
    return publish(made.catalog, [seal_branch(made.catalog, base, attempt, sealed)]).snapshots[made.declared.name]


@pytest.fixture
def things(judged: Judged) -> Contracted:
    made = judged.table("mart.things", {"id": KEY, "share": SHARE}, expects=(Rows(least=1),))
    judged.derived["mart.things"] = "something computes it"
    made.append([{"id": 1, "share": 5.0}, {"id": 2, "share": 0.5}])
    return made


def test_what_the_step_sealed_of_this_very_snapshot_is_not_judged_again(judged: Judged, things: Contracted) -> None:
    snapshot = seal(things, RULES | {"at least 1 row": ("error", 0)})
    result = judged.ask("mart.things", "contract_rules")
    assert (result.passed, result.severity, things.sessions) == (False, dg.AssetCheckSeverity.WARN, 0)
    assert value(result, "snapshot id") == str(snapshot)
    assert value(result, "rows: share: less_than_or_equal_to(1.0)") == 7, "a known gap, followed over time"
    assert {record["answered from"] for record in records(result, "rules")} == {"seal"}
    assert "share: less_than_or_equal_to(1.0) (7 of 9 rows)" in str(result.description)
    assert judged.judges("mart.things")["contract_rules"].blocking


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda made: seal(made, RULES), id="other rules by now"),
        pytest.param(
            lambda made: seal(made, RULES | {"at least 1 row": ("error", 0)}, mode="incremental"), id="new rows"
        ),
        pytest.param(lambda made: seal(made, RULES | {"at least 1 row": ("error", 0)}, partition=("a",)), id="a part"),
        pytest.param(
            lambda made: (
                seal(made, RULES | {"at least 1 row": ("error", 0)}),
                made.sql("DELETE FROM lake.mart.things WHERE id = 2"),
            ),
            id="a foreign commit",
        ),
        pytest.param(lambda made: None, id="never sealed"),
    ],
)
def test_what_no_seal_says_of_all_rows_is_judged(
    judged: Judged, things: Contracted, change: Callable[[Contracted], object]
) -> None:
    change(things)
    result = judged.ask("mart.things", "contract_rules")
    broken = {record["rule"]: record for record in records(result, "rules")}
    assert broken["share: less_than_or_equal_to(1.0)"]["broken by"] == 1
    assert broken["id: required, but null"]["answered from"] == "manifests"
    assert broken["at least 1 row"]["answered from"] == "summary"
    assert value(result, "snapshot id") == str(things.head)
    things.declared = declare(
        {"id": KEY, "share": pandera.Column(T.DoubleType(), Check.le(1.0), nullable=True)}, "mart.things"
    )
    strict = judged.ask("mart.things", "contract_rules")
    assert (strict.passed, strict.severity) == (False, dg.AssetCheckSeverity.ERROR)
