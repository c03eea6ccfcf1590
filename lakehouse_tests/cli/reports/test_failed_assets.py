"""A failed step holds up its own assets and what is computed from them, and nothing else."""

import dagster as dg

from lakehouse.build import build_defs
from lakehouse.cli.reports.failed_assets import assets_of_steps, held_up
from lakehouse.settings import load_settings
from lakehouse_tests.settings.test_loading import REPOSITORY


def test_what_waits_for_a_stream_that_failed() -> None:
    defs = build_defs(load_settings(REPOSITORY / "conf", {}))

    def named(keys: set[dg.AssetKey]) -> set[str]:
        return {".".join(key.path) for key in keys}

    own = {"raw.flights", "quarantine.flights"}
    assert named(assets_of_steps(defs, {"ingest_flights"})) == own
    assert named(assets_of_steps(defs, {"prove_flights"})) == own
    waiting = named(held_up(defs, {"ingest_flights"}))
    assert waiting >= own | {"features.training", "release.analytics"}
    assert not waiting & {"raw.planes", "changelog.flights", "mirror.flights"}
    assert held_up(defs, set()) == set()
    # A stream's step makes its tables together: what is left of them cannot be asked for alone.
    assert named(held_up(defs, {"judge_raw__flights"})) >= own


def test_assets_that_no_step_of_ours_makes_are_held_up_by_none() -> None:
    defs = dg.Definitions(assets=[dg.AssetSpec("theirs")])
    assert assets_of_steps(defs, {"ingest_flights"}) == set()
