"""The asset of a release: what it waits for, what it tells, how it fails; and reading one in an asset of one's own."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Declarations, Release
from lakehouse.orchestration.assets import release_asset
from lakehouse.orchestration.checks import required_checks
from lakehouse.orchestration.resources import Lake, WrittenByStream
from lakehouse.orchestration.run_context import RUNTIME_DATE_TAG
from lakehouse.protocol.seals.history import head_of, last_seal
from lakehouse.settings import IngestSettings, KafkaSettings, Settings
from lakehouse.settings.state import StateFolder
from lakehouse.steps.release.reading import OpenRelease, open_release
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.broker import REPOSITORY
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.fixtures.spark import classic_platform

pytestmark = pytest.mark.slow

DAY = "2013-05-14"
NAMES = ("mart.one", "mart.two")
COLUMNS = {"n": T.LongType(), "runtime_date": pandera.Column(T.DateType(), nullable=False)}
MART = [declare(COLUMNS, name, runtime_date_column="runtime_date", write_mode="overwrite") for name in NAMES]
SHOP = Release(name="shop", members=NAMES, description="What the shop sells.", owner="tests")
READER = declare({"n": T.LongType()}, "mart.reader")
EVERYTHING = Declarations({table.name: table for table in (*MART, READER, SHOP.table)}, {}, {}, releases={"shop": SHOP})


@dataclass
class Shop:
    """Two tables, a blocking check on each, and their release."""

    lake: Lake
    instance: dg.DagsterInstance
    verdicts: dict[str, Any] = field(default_factory=dict[str, Any])
    elsewhere: dict[str, str] = field(default_factory=dict[str, str])

    def definitions(self) -> list[Any]:
        """Assets and checks."""
        made: list[Any] = [part for name in NAMES for part in (self._asset(name), self._check(name))]
        waits_for = required_checks(SHOP, [part for part in made if isinstance(part, dg.AssetChecksDefinition)])
        return [*made, release_asset(SHOP, EVERYTHING, waits_for), self._reader()]

    def run(self, *names: str, day: str = DAY) -> dg.ExecuteInProcessResult:
        """Materialize some of it, with the checks of what is materialized."""
        keys = [dg.AssetKey(name.split(".")) for name in names or (*NAMES, "release.shop")]
        return dg.materialize(
            self.definitions(),
            instance=self.instance,
            resources={"lake": self.lake},
            selection=dg.AssetSelection.assets(*keys),
            raise_on_error=False,
            tags={RUNTIME_DATE_TAG: day},
        )

    def judge(self, name: str, verdict: str) -> None:
        """Run a table's check alone."""
        self.verdicts[name] = verdict
        dg.materialize(
            self.definitions(),
            instance=self.instance,
            resources={"lake": self.lake},
            selection=dg.AssetSelection.checks_for_assets(dg.AssetKey(name.split("."))),
            raise_on_error=False,
        )

    def open(self) -> OpenRelease:
        """The current release."""
        return open_release(self.lake.catalog, "shop")

    def _asset(self, name: str) -> dg.AssetsDefinition:
        @dg.asset(key=name.split("."))
        def write(context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake]) -> dg.MaterializeResult[Any]:
            day = date.fromisoformat(context.run.tags[RUNTIME_DATE_TAG])
            rows = pa.table({"n": [1, 2], "runtime_date": pa.array([day, day], pa.date32())})
            return lake.write(context, name, rows, mode="overwrite")

        return write

    def _check(self, name: str) -> dg.AssetChecksDefinition:
        @dg.asset_check(asset=dg.AssetKey(name.split(".")), name="good", blocking=True)
        def good(lake: dg.ResourceParam[Lake]) -> dg.AssetCheckResult:
            verdict = self.verdicts.get(name, "passed")
            if verdict == "errored":
                raise RuntimeError("the check could not be answered")
            severity = dg.AssetCheckSeverity.WARN if verdict == "warned" else dg.AssetCheckSeverity.ERROR
            head = head_of(lake.catalog.load_table(tuple(name.split("."))))
            return dg.AssetCheckResult(
                passed=verdict == "passed",
                severity=severity,
                description=f"It is {verdict}.",
                metadata={"snapshot id": str(head), **self.elsewhere},
            )

        return good

    def _reader(self) -> dg.AssetsDefinition:
        @dg.asset(key=["mart", "reader"], deps=[dg.AssetKey(["release", "shop"])])
        def reader(context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake]) -> dg.MaterializeResult[Any]:
            shop = lake.release("shop")
            assert lake.release("shop") is shop, "resolved once in a step"
            return lake.write(context, "mart.reader", shop.arrow("mart.one", columns=["n"], where="n = 2"))

        return reader


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    settings = Settings(
        conf=REPOSITORY / "conf",
        state=StateFolder(tmp_path),
        platform=classic_platform(),
        catalog=sql_settings(tmp_path),
        kafka=KafkaSettings(bootstrap_servers="127.0.0.1:1"),
        ingest=IngestSettings(),
        declarations=(),
    )
    with dg.DagsterInstance.ephemeral() as instance:
        yield Shop(Lake(settings, EVERYTHING), instance)


def reasons(result: dg.ExecuteInProcessResult) -> list[str]:
    """What a held release says in its failure's metadata."""
    (event,) = [e for e in result.get_step_failure_events() if e.step_key == "release_shop"]
    failure = event.step_failure_data.user_failure_data
    assert failure is not None
    assert failure.description is not None
    assert failure.description.startswith("Release shop is held, for")
    assert failure.metadata["refused"].value == "ReleaseHeld"
    table = failure.metadata["reasons"]
    assert isinstance(table, dg.TableMetadataValue)
    return [f"{row.data['table']}: {row.data['what is wrong']}" for row in table.records]


def made(result: dg.ExecuteInProcessResult) -> dg.AssetMaterialization | None:
    """What the run materialized of the release."""
    materializations = result.asset_materializations_for_node("release_shop") if result.success else []
    return materializations[0] if materializations else None


def test_a_run_of_everything_ends_in_a_release(shop: Shop) -> None:
    result = shop.run()
    assert result.success
    release = made(result)
    assert release is not None
    opened = shop.open()
    assert release.metadata["release"].value == opened.id
    members = release.metadata["members"]
    assert isinstance(members, dg.TableMetadataValue)
    assert [dict(row.data) for row in members.records] == [
        {"table": m.table, "snapshot": str(m.snapshot_id), "runtime date": DAY, "rows": "2"} for m in opened.members
    ]
    changed = release.metadata["changed"]
    assert isinstance(changed, dg.TableMetadataValue)
    assert [row.data["change"] for row in changed.records] == ["new member", "new member"]
    assert (release.tags or {})[RUNTIME_DATE_TAG] == DAY
    assert opened.arrow("mart.two")["n"].to_pylist() == [1, 2]


def test_nothing_new_is_no_release(shop: Shop) -> None:
    shop.run()
    before = shop.open().id
    result = shop.run("release.shop")
    assert result.success
    assert made(result) is None
    assert shop.open().id == before


def test_three_words_for_a_check_that_does_not_let_it_pass(shop: Shop) -> None:
    shop.run()
    before = shop.open().id
    shop.verdicts["mart.one"] = "failed"
    assert not shop.run().success, "what blocks in the run keeps the release from being tried"
    head = head_of(shop.lake.catalog.load_table(("mart", "one")))
    assert reasons(shop.run("release.shop"))[0] == f"mart.one: check good failed on snapshot {head}: It is failed"
    shop.run("mart.one")  # a new snapshot, judged again
    shop.verdicts["mart.one"] = "errored"
    shop.run("mart.one")
    assert "mart.one: check good errored, so it says neither good nor bad" in reasons(shop.run("release.shop"))[0]
    assert shop.open().id == before
    shop.judge("mart.one", "warned")
    shop.judge("mart.two", "passed")
    assert shop.run("release.shop").success, "what only warns was let through by declaration"
    assert shop.open().id != before


def test_what_a_check_has_judged_of_another_member_has_to_be_what_is_released(shop: Shop) -> None:
    shop.elsewhere["snapshot id of mart.two"] = "17"
    lines = reasons(shop.run())
    assert [line.partition(", which")[0] for line in lines] == [
        f"{name}: check good has judged mart.two at 17" for name in NAMES
    ]


def test_never_run(shop: Shop) -> None:
    shop.lake.ensure(NAMES)
    write = shop.definitions()
    dg.materialize(
        [part for part in write if not isinstance(part, dg.AssetChecksDefinition)],
        instance=shop.instance,
        resources={"lake": shop.lake},
        selection=dg.AssetSelection.assets(*(dg.AssetKey(name.split(".")) for name in NAMES)),
        tags={RUNTIME_DATE_TAG: DAY},
    )
    assert reasons(shop.run("release.shop")) == [f"{name}: check good was never run" for name in NAMES]


def test_one_table_of_another_day_is_named_and_repaired(shop: Shop) -> None:
    shop.run()
    before = shop.open().id
    shop.run("mart.two", day="2013-05-15")
    assert reasons(shop.run("release.shop")) == [
        "mart.one: the runtime dates of the members differ (2013-05-14: mart.one; 2013-05-15: mart.two)"
    ]
    assert shop.open().id == before
    shop.run(day="2013-05-15")
    assert {member.runtime_date for member in shop.open().members} == {"2013-05-15"}


def test_an_asset_of_ones_own_reads_a_release_and_says_so(shop: Shop) -> None:
    shop.run()
    released = shop.open().member("mart.one").snapshot_id
    shop.run("mart.one")
    assert shop.run("mart.reader").success
    sealed = last_seal(shop.lake.catalog.load_table(("mart", "reader")))
    assert sealed is not None
    assert sealed.seal.inputs == {"mart.one": released}
    assert shop.lake.arrow("mart.reader")["n"].to_pylist() == [2]


def test_nobody_else_moves_the_pointer(shop: Shop) -> None:
    @dg.asset
    def meddling(context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake]) -> None:
        with pytest.raises(WrittenByStream, match=r"Table release\.shop is written by the release shop"):
            lake.write(context, "release.shop", pa.table({"id": ["x"]}))

    assert dg.materialize([meddling], instance=shop.instance, resources={"lake": shop.lake}).success
