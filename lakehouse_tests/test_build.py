"""The definitions as a whole: loadable anywhere, complete, and free of secrets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster_shared.serdes import serialize_value

from lakehouse.build import PROVE_JOB, build_defs
from lakehouse.declarations import load_declarations
from lakehouse.orchestration.dagster_names import ResourceKeysInvalid
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse_tests.fixtures.broker import REPOSITORY
from lakehouse_tests.fixtures.demo_declarations import demo_declarations
from lakehouse_tests.orchestration.assets.house import NESTS, STREAM, TABLE, write_conf

NOWHERE = KafkaSettings(bootstrap_servers="127.0.0.1:1")
MIRROR = {"mirror/flights", "mirror/flights_tombstones", "quarantine/mirror_flights"}
FEATURES = ("hourly_weather", "airport_load", "route_days", "route_history", "carrier_fleet", "training")
DERIVED = {f"features/{name}" for name in FEATURES}
SECRET = "correct-horse-battery-staple"


@pytest.fixture
def conf(tmp_path: Path, jars: Path) -> Path:
    folder = write_conf(tmp_path, NOWHERE, jars)
    (folder / "declarations" / "birds.py").write_text(TABLE)
    (folder / "declarations" / "sightings.py").write_text(STREAM.format(topic="birds"))
    return folder


def demo() -> dg.Definitions:
    settings = load_settings(REPOSITORY / "conf", {})
    return build_defs(settings.model_copy(update={"declarations": (demo_declarations(),)}))


def steps(defs: dg.Definitions) -> list[dg.AssetsDefinition]:
    """What makes assets; a topic is an asset that nothing here makes."""
    return [definition for definition in defs.assets or [] if isinstance(definition, dg.AssetsDefinition)]


def test_the_demo_is_complete() -> None:
    defs = demo()
    specs = {
        "/".join(spec.key.path): spec for spec in defs.resolve_all_asset_specs() if spec.group_name != "maintenance"
    }
    topics = {name: specs.pop(name) for name in list(specs) if name.startswith("topic/")}
    assert {spec.kinds == {"kafka"} for spec in topics.values()} == {True}
    assert {spec.group_name for spec in topics.values()} == {"flights", "reference", "flight_changes"}
    landed = {
        *(f"raw/{name}" for name in ("flights", "weather", "planes", "airports", "airlines")),
        *(f"quarantine/{name}" for name in ("flights", "reference", "flight_changes")),
        "changelog/flights",
    }
    assert set(specs) == {*landed, *MIRROR, *DERIVED, "release/analytics"}
    for name, spec in specs.items():
        assert spec.description
        assert spec.owners
        kinds = {"iceberg", "spark", "kafka"} if name in landed else {"iceberg", "spark"}
        assert spec.kinds == (kinds if name != "release/analytics" else {"iceberg"})
        assert spec.code_version
        assert spec.skippable
        assert isinstance(spec.metadata["dagster/column_schema"], dg.TableSchema)
    streams = {"flights", "reference", "flight_changes"}
    assert {spec.group_name for spec in specs.values()} == {*streams, "features", "releases"}
    sensors = {sensor.name for sensor in defs.sensors or []}
    of_streams = {f"{stream}_lag" for stream in streams}
    assert sensors == {*of_streams, "mirror_flights_follows", "derived_tables_and_releases", "audit_log", "upkeep"}
    pools = {definition.node_def.pool for definition in steps(defs)}  # pyright: ignore
    derived = {f"derive_{name.replace('/', '__')}" for name in DERIVED}
    writers = {*(f"stream_{stream}" for stream in streams), "mirror_flights", *derived, "release_analytics"}
    assert pools == {*writers, "maintenance"}, "who maintains a table takes turns with who writes it"
    checks = {key.to_user_string() for key in defs.resolve_asset_graph().asset_check_keys}
    of_stream = ("exactly_once", "contract_rules", "freshness_and_lag", "retention_forecast")
    assert len([c for c in checks if c.split(":")[0] in landed and c.split(":")[1] in of_stream]) == 9 + 6 + 6 + 6
    assert "mirror/flights:mirror_is_its_changelog" in checks
    assert "raw/weather:contract_rules" in checks
    assert "quarantine/flights:exactly_once" in checks
    proofs = ("runtime_date", "vintage", "lineage", "contract_rules", "unique_key")
    assert {f"{name}:{check}" for name in DERIVED for check in proofs} <= checks
    gaps = {"raw/flights:references_raw_planes", "raw/flights:references_raw_airports"}
    assert {*gaps, "raw/planes:histogram_year"} <= checks


def test_the_graph_shows_the_way_from_a_topic_to_a_release() -> None:
    graph = demo().resolve_asset_graph()
    topics = {key for key in graph.external_asset_keys if key.path[0] == "topic"}
    assert not topics & graph.materializable_asset_keys, "nobody is offered to make them"
    way = (dg.AssetSelection.assets(*topics).downstream() & dg.AssetSelection.assets("release/analytics")).resolve(
        graph
    )
    assert way == {dg.AssetKey(["release", "analytics"])}
    roots = (
        dg.AssetSelection.assets("raw/flights").upstream(include_self=False).resolve(graph)
        | graph.get(dg.AssetKey(["raw", "flights"])).parent_keys
    )
    assert {key.path[0] for key in roots} == {"topic"}


def test_every_table_is_looked_after_and_no_run_of_tables_brings_that_along(conf: Path) -> None:
    left_alone = TABLE.replace("owner=", 'maintenance=Maintenance(excluded="it is art"), owner=').replace(
        "import Table", "import Maintenance, Table"
    )
    (conf / "declarations" / "birds.py").write_text(left_alone)
    settings = load_settings(conf, {})
    defs, declared = build_defs(settings), load_declarations(settings.declarations).tables
    graph = defs.resolve_asset_graph()
    selected = dg.AssetSelection.groups("maintenance").resolve(graph)
    assert selected == {dg.AssetKey(["maintenance", *name.split(".")]) for name in declared}
    tables = dg.AssetSelection.all() - dg.AssetSelection.groups("maintenance")
    assert not selected & tables.upstream().resolve(graph) | selected & tables.downstream().resolve(graph)
    excluded = {spec.key.path[-1] for spec in defs.resolve_all_asset_specs() if "lakehouse/maintenance" in spec.tags}
    assert excluded == {"birds"}
    pools = {definition.node_def.name: definition.node_def.pool for definition in steps(defs)}  # pyright: ignore
    assert pools["maintain_raw__birds"] == pools["ingest_birds"]
    assert pools["maintain_lakehouse__audit_log"] == "maintenance"


def test_a_mirror_follows_its_changelog_in_the_same_graph(conf: Path) -> None:
    (conf / "declarations" / "nests.py").write_text(NESTS.format(name="nests", topic="nests", target_lag=60))
    defs = build_defs(load_settings(conf, {}))
    specs = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
    for name in ("mirror/nests", "mirror/nests_tombstones", "quarantine/mirror_nests"):
        spec = specs[name]
        assert {dep.asset_key.to_user_string() for dep in spec.deps} == {"changelog/nests"}
        assert (spec.group_name, spec.kinds, spec.skippable) == ("nests", {"iceberg", "spark"}, True)
        assert spec.code_version
        assert spec.code_version != specs["changelog/nests"].code_version
    pools = {definition.node_def.name: definition.node_def.pool for definition in steps(defs)}  # pyright: ignore
    assert pools["mirror_nests"] == "mirror_nests"
    follows = next(sensor for sensor in defs.sensors or [] if sensor.name == "mirror_nests_follows")
    assert follows.default_status is dg.DefaultSensorStatus.RUNNING
    job = defs.resolve_job_def("__anonymous_asset_job_mirror_nests_follows")
    assert {node.name for node in job.nodes} == {"mirror_nests", "prove_mirror_nests"}
    assert "prove_mirror_nests" in {node.name for node in defs.resolve_job_def(PROVE_JOB).nodes}
    dg.Definitions.validate_loadable(defs)


def test_loading_connects_to_nothing_and_needs_no_secret(conf: Path) -> None:
    (conf / "catalogs").unlink()
    (conf / "catalogs").mkdir()
    (conf / "catalogs" / "local.yaml").write_text(
        "type: rest\nuri: http://127.0.0.1:1\nwarehouse: w\nproperties:\n  credential: ${env:NOT_SET_ANYWHERE}\n"
    )
    defs = build_defs(load_settings(conf, {}))
    dg.Definitions.validate_loadable(defs)


def test_no_secret_is_in_what_dagster_stores_and_shows(conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER_PASSWORD", SECRET)
    (conf / "kafka" / "local.yaml").write_text(
        "bootstrap_servers: 127.0.0.1:1\nproperties:\n  security.protocol: SASL_SSL\n  sasl.username: u\n"
        "  sasl.password: ${env:BROKER_PASSWORD}\n"
    )
    settings = load_settings(conf)
    defs = build_defs(settings)
    shown = serialize_value(RepositorySnap.from_def(defs.get_repository_def()))
    assert "raw" in shown
    assert SECRET not in shown
    assert SECRET not in repr(settings) + repr(defs)
    assert settings.kafka.properties["sasl.password"].get_secret_value() == SECRET  # pyright: ignore


def test_a_wrong_declaration_is_named_and_stops_no_other(conf: Path) -> None:
    (conf / "declarations" / "wrong.py").write_text("from lakehouse import Stream\n\nStream(\n")
    defs = build_defs(load_settings(conf, {}))
    dg.Definitions.validate_loadable(defs)
    [spec] = [spec for spec in defs.resolve_all_asset_specs() if spec.group_name == "stopped"]
    assert "wrong.py, line 3: SyntaxError" in (spec.description or "")
    assert dg.AssetKey(["raw", "birds"]) in defs.resolve_asset_graph().materializable_asset_keys


def test_what_a_user_defines_beside_a_declaration_is_found(conf: Path) -> None:
    (conf / "declarations" / "birds.py").write_text(
        TABLE + "\nimport dagster as dg\n\n\n@dg.asset\ndef flock() -> None: ...\n\n\n@dg.asset_check(asset=flock)\n"
        "def flies() -> dg.AssetCheckResult: ...\n\n\n"
        "daily = dg.ScheduleDefinition(name='daily', target=[flock], cron_schedule='@daily')\n"
    )
    defs = build_defs(load_settings(conf, {}))
    assert dg.AssetKey("flock") in {spec.key for spec in defs.resolve_all_asset_specs()}
    assert "flies" in {key.name for key in defs.resolve_asset_graph().asset_check_keys}
    assert defs.resolve_schedule_def("daily")


def test_a_lakehouse_without_streams_loads(conf: Path) -> None:
    for file in (conf / "declarations").iterdir():
        file.unlink()
    dg.Definitions.validate_loadable(build_defs(load_settings(conf, {})))


def test_resources_can_be_exchanged(conf: Path) -> None:
    other = object()
    defs = build_defs(load_settings(conf, {}), resource_overrides={"lake": other, "more": "x"})
    assert (defs.resources or {})["lake"] is other
    assert set(defs.resources or {}) == {"lake", "spark", "lake_io_manager", "more"}


def test_ours_merge_with_a_project_that_has_an_executor_a_spark_and_a_lake_of_its_own(conf: Path) -> None:
    keys = {"lake": "tables", "spark": "lake_spark", "lake_io_manager": "lake_io"}
    ours = build_defs(load_settings(conf, {}), resource_keys=keys)
    theirs = dg.Definitions(executor=dg.multi_or_in_process_executor, resources={"spark": object(), "lake": object()})
    both = dg.Definitions.merge(ours, theirs)
    dg.Definitions.validate_loadable(both)
    needed = {key for definition in both.assets or [] for key in getattr(definition, "required_resource_keys", ())}
    assert needed - {"io_manager"} == {"tables", "lake_spark"}
    with pytest.raises(ResourceKeysInvalid, match="sparks"):
        build_defs(load_settings(conf, {}), resource_keys={"sparks": "x"})


def test_the_assets_of_maintenance_can_be_folded_away(conf: Path) -> None:
    """Guarded mechanism: one setting takes them, their checks and their sensor out of Dagster, and nothing else."""
    whole = build_defs(load_settings(conf, {}))
    folded = build_defs(load_settings(conf, {"LAKEHOUSE__DAGSTER__MAINTENANCE_ASSETS": "false"}))
    dg.Definitions.validate_loadable(folded)
    before, after = whole.resolve_asset_graph(), folded.resolve_asset_graph()
    assert {key.path[0] for key in before.get_all_asset_keys() - after.get_all_asset_keys()} == {"maintenance"}
    assert not [check for check in after.asset_check_keys if check.asset_key.path[0] == "maintenance"]
    assert {sensor.name for sensor in whole.sensors or []} - {s.name for s in folded.sensors or []} == {"upkeep"}


def test_a_prefix_stands_before_every_asset_of_ours(conf: Path) -> None:
    (conf / "declarations" / "nests.py").write_text(NESTS.format(name="nests", topic="nests", target_lag=60))
    (conf / "declarations" / "wrong.py").write_text("from lakehouse import Stream\n\nStream(\n")
    environ = {"LAKEHOUSE__DAGSTER__ASSET_KEY_PREFIX": "corp/lake"}
    for platform in ("test", "connect"):
        if platform == "connect":
            (conf / "platforms" / "connect.yaml").symlink_to(REPOSITORY / "conf" / "platforms" / "connect.yaml")
        defs = build_defs(load_settings(conf, {**environ, "LAKEHOUSE_PLATFORM": platform}))
        dg.Definitions.validate_loadable(defs)
        graph = defs.resolve_asset_graph()
        assert {tuple(key.path[:2]) for key in graph.get_all_asset_keys()} == {("corp", "lake")}
        assert {tuple(check.asset_key.path[:2]) for check in graph.asset_check_keys} == {("corp", "lake")}
        assert dg.AssetKey(["corp", "lake", "raw", "birds"]) in graph.materializable_asset_keys


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["dg", "check", "defs"], marks=pytest.mark.soak),
        ["dg", "list", "defs", "--json"],
        pytest.param(["dagster", "definitions", "validate"], marks=pytest.mark.soak),
        ["dagster", "definitions", "validate", "-w", "workspace.yaml"],
    ],
)
def test_dagsters_own_commands_work_at_the_repository_root(command: list[str], tmp_path: Path) -> None:
    name, *arguments = command
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("DAGSTER", "LAKEHOUSE"))}
    done = subprocess.run(
        [str(Path(sys.executable).parent / name), *arguments],
        cwd=REPOSITORY,
        env={**environ, "DAGSTER_HOME": str(tmp_path), "DAGSTER_DISABLE_TELEMETRY": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if "--json" in command:
        assert "raw/flights" in {asset["asset_key"] for asset in json.loads(done.stdout)["assets"]}
