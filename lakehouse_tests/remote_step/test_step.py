"""What a driver elsewhere does with a request: as the run's own step would, in its name, and it says how it ended."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import dagster as dg
import msgspec
import pytest
from dagster._core.execution.plan.objects import UserFailureData
from dagster._serdes import deserialize_value
from dagster_pipes import PipesContext

from lakehouse.errors import LakehouseError
from lakehouse.orchestration.remote.request import StepRequest
from lakehouse.orchestration.resources.run_records import longest_run, under_way
from lakehouse.orchestration.run_context import attempt_of, execution_of
from lakehouse.remote_step import step
from lakehouse.settings import Settings, load_settings

ROOT, RUN, OTHER = (f"00000000-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))
BEGUN_MS = 1_700_000_000_000


class _Pipes:
    """What a driver is given, and takes what it reports."""

    def __init__(self, request: StepRequest) -> None:
        self._request = request
        self.messages: list[Any] = []
        self.lines: list[str] = []
        self.log = self

    def get_extra(self, _: str) -> Any:
        """The request."""
        return msgspec.to_builtins(self._request)

    def report_custom_message(self, message: Any) -> None:
        """Keep an answer."""
        self.messages.append(message)

    def log_line(self, _: int, line: str) -> None:
        """Keep a line."""
        self.lines.append(line)


def done(monkeypatch: pytest.MonkeyPatch, asset: dg.AssetsDefinition, **changes: Any) -> tuple[bool, _Pipes]:
    """Have a step done whose definitions are this asset's."""
    request = StepRequest(
        asset_keys=["birds"],
        run_id=RUN,
        root_run_id=ROOT,
        begun_ms=BEGUN_MS,
        tags={"lakehouse/runtime_date": "2013-05-14", "team": "birds"},
        under_way=[OTHER],
        longest_run_seconds=7200,
        **changes,
    )
    pipes = _Pipes(request)
    vars(pipes)["log"] = type("Log", (), {"log": staticmethod(pipes.log_line)})
    monkeypatch.setattr(step, "build_defs", lambda _: dg.Definitions(assets=[asset]))
    return step.do_step(cast("PipesContext", pipes), load_settings(Path(__file__).parents[2] / "conf", {})), pipes


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load_settings(Path(__file__).parents[2] / "conf", {})


def test_a_step_is_done_in_the_name_of_its_run(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    seen: dict[str, object] = {}

    @dg.asset
    def birds(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        attempt = attempt_of(context, settings, step="ingest:birds")
        seen.update(
            run=attempt.run_id,
            root=attempt.root_run_id,
            date=attempt.runtime_date,
            execution=execution_of(context),
            busy={record.dagster_run.run_id for record in under_way(context.instance)} - {RUN},
            team=context.run.tags["team"],
            longest=round(longest_run(context.instance, datetime.now(UTC)).total_seconds()),
        )
        context.log.info("3 birds")
        return dg.MaterializeResult(metadata={"rows": 3}, tags={"lakehouse/runtime_date": attempt.runtime_date})

    succeeded, pipes = done(monkeypatch, birds)
    assert succeeded
    assert (seen["run"], seen["root"], seen["date"], seen["team"]) == (RUN, ROOT, "2013-05-14", "birds")
    assert seen["longest"] == 7200
    execution: Any = seen["execution"]
    assert (execution.id, execution.begun_ms) == (ROOT, BEGUN_MS)
    assert OTHER in cast("set[str]", seen["busy"])
    event, end = pipes.messages
    made = deserialize_value(event["event"], dg.AssetMaterialization)
    assert made.metadata["rows"].value == 3
    assert (made.tags or {})["lakehouse/runtime_date"] == "2013-05-14"
    assert (end["kind"], end["outcome"]) == ("end", "success")
    assert pipes.lines == ["3 birds"], "what it logs comes through, and nothing of Dagster's own"


def test_the_innermost_reason_of_a_failure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(LakehouseError):
        pass

    @dg.asset
    def birds() -> None:
        raise Refused("The topic is gone.", remedy="bring it back.")

    succeeded, pipes = done(monkeypatch, birds)
    assert not succeeded
    (end,) = pipes.messages
    assert (end["outcome"], end["error"]) == ("failure", "Refused")
    assert "The topic is gone. Remedy: bring it back." in end["message"]


def test_a_failure_with_metadata_keeps_them(monkeypatch: pytest.MonkeyPatch) -> None:
    @dg.asset
    def birds() -> None:
        raise dg.Failure("inputs disagree", metadata={"remedy": dg.MetadataValue.md("run both")}, allow_retries=False)

    _, pipes = done(monkeypatch, birds)
    (end,) = pipes.messages
    assert end["message"] == "inputs disagree"
    shown = deserialize_value(end["metadata"], UserFailureData)
    assert shown.metadata == {"remedy": dg.MetadataValue.md("run both")}
