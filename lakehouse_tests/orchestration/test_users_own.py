"""What users define beside their declarations is kept, or refused by name."""

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from lakehouse.build import build_defs
from lakehouse.orchestration.users_own import DefinitionsClash
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse_tests.declarations.registry.test_dagster_names import OWN
from lakehouse_tests.orchestration.assets.house import write_conf

NOWHERE = KafkaSettings(bootstrap_servers="127.0.0.1:1")
Define = Callable[..., dg.Definitions]


@pytest.fixture
def define(tmp_path: Path, jars: Path) -> Define:
    """The definitions of a lakehouse whose declaration files also hold these definitions."""
    conf = write_conf(tmp_path, NOWHERE, jars)

    def built(*definitions: str, declares: bool = True, **options: object) -> dg.Definitions:
        for number, text in enumerate(definitions):
            file = conf / "declarations" / f"own{number}.py"
            alone = f"import dagster as dg\n{text}"
            file.write_text(OWN.format(name=f"table{number}", definition=text) if declares else alone)
        return build_defs(load_settings(conf, {}), **options)  # pyright: ignore

    return built


def stopped(defs: dg.Definitions) -> list[str]:
    return [str(spec.description) for spec in defs.resolve_all_asset_specs() if spec.group_name == "stopped"]


EACH = """
@dg.asset
def flock() -> None: ...

seen = dg.AssetSpec("seen")
listed = [dg.AssetSpec("first"), [dg.AssetSpec("second")]]
job = dg.define_asset_job("flocks", [flock])

@dg.job
def counting() -> None: ...

@dg.sensor(job=job)
def watching() -> None: ...

@dg.schedule(job=counting, cron_schedule="@daily")
def daily() -> None: ...

@dg.asset_check(asset=flock)
def flies() -> dg.AssetCheckResult: ...
"""
WHOLE = f"""
def whole():
    {EACH.replace(chr(10), chr(10) + "    ")}
    return dg.Definitions(
        assets=[flock, seen, *listed[:1], dg.AssetSpec("second")], asset_checks=[flies], jobs=[job, counting],
        sensors=[watching], schedules=[daily], resources={{"wind": 3}}, executor=dg.multiprocess_executor,
    )

more = whole()
"""


@pytest.mark.parametrize("declares", [True, False], ids=["beside a table", "alone"])
@pytest.mark.parametrize("text", [EACH, WHOLE], ids=["each", "whole"])
def test_every_kind_of_definition_is_kept(define: Define, text: str, declares: bool) -> None:
    defs = define(text, declares=declares)
    assert not stopped(defs)
    keys = {spec.key.to_user_string() for spec in defs.resolve_all_asset_specs()}
    assert {"flock", "seen", "first", "second"} <= keys
    assert defs.resolve_job_def("flocks")
    assert defs.resolve_job_def("counting")
    assert defs.resolve_sensor_def("watching")
    assert defs.resolve_schedule_def("daily")
    assert "flies" in {key.name for key in defs.resolve_asset_graph().asset_check_keys}


def test_resources_and_executor_of_a_whole_are_kept(define: Define) -> None:
    defs = define(WHOLE, executor=dg.in_process_executor)
    assert (defs.resources or {})["wind"] == 3
    assert defs.executor is dg.multiprocess_executor


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("class Wind(dg.ConfigurableResource):\n    speed: int\n\nwind = Wind(speed=3)", "wind (Wind)"),
        ("@dg.logger\ndef loud(init_context): ...", "loud (LoggerDefinition)"),
        ("@dg.definitions\ndef later() -> dg.Definitions: ...", "later (LazyDefinitions)"),
        ("@dg.repository\ndef old():\n    return []", "old (RepositoryDefinition)"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name_and_stops_its_own_table(define: Define, text: str, name: str) -> None:
    defs = define(text, "")
    [reason] = stopped(defs)
    assert "own0.py: it defines " + name in reason
    assert dg.AssetKey(["maintenance", "own", "table1"]) in defs.resolve_asset_graph().materializable_asset_keys


def test_what_dagster_brings_and_what_a_whole_holds_are_no_trouble(define: Define) -> None:
    text = "from dagster import in_process_executor\n@dg.logger\ndef loud(c): ...\n"
    text += "more = dg.Definitions(loggers={'loud': loud})"
    assert not stopped(define(text))


def test_a_name_in_a_whole_clashes_as_any_other(define: Define) -> None:
    defs = define("a = dg.define_asset_job('flocks', '*')", "b = dg.Definitions(jobs=[dg.define_asset_job('flocks')])")
    assert "the job flocks is defined in" in stopped(defs)[0]


def test_files_that_define_alone_clash_as_any_other(define: Define) -> None:
    defs = define(*["a = dg.define_asset_job('flocks', '*')"] * 2, declares=False)
    assert "flocks" not in [job.name for job in defs.resolve_all_job_defs()]


def test_two_resources_of_one_key_are_refused_by_both_files(define: Define) -> None:
    with pytest.raises(DefinitionsClash, match=r"own0\.py and .*own1\.py each have a resource wind"):
        define("a = dg.Definitions(resources={'wind': 1})", "b = dg.Definitions(resources={'wind': 2})")
    with pytest.raises(DefinitionsClash, match=r"own0\.py and .*own1\.py each have an executor"):
        define(
            "a = dg.Definitions(executor=dg.in_process_executor)",
            "b = dg.Definitions(executor=dg.multiprocess_executor)",
        )


def test_a_resource_of_theirs_under_our_key_is_refused_and_ours_can_be_renamed(define: Define) -> None:
    text = "a = dg.Definitions(resources={'spark': 'theirs'})"
    with pytest.raises(DefinitionsClash, match="spark"):
        define(text)
    defs = define(text, resource_keys={"spark": "lake_spark"})
    assert (defs.resources or {})["spark"] == "theirs"
    dg.Definitions.validate_loadable(defs)
