"""The step's fold, by Spark, and the check's, by polars, come to the same of histories that hold everything at once."""

import random
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from lakehouse.declarations import Mirror
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import make_checkpoint
from lakehouse.steps.cdc.step import MirrorStep, mirror
from lakehouse.steps.cdc.verify.audit import audit_mirror
from lakehouse.steps.cdc.verify.verify import check_fold
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.cdc.mirrored import BIRDS, COLUMNS, LOG, REFUSED, MirroredLake, Row, change

pytestmark = [pytest.mark.spark, pytest.mark.slow]

KEYS = 30


def history(chance: random.Random, first: int, number: int) -> list[Row]:
    """Changes of few keys: partial, late, repeated, contradicting, of keys, tombstones and sometimes a truncate."""
    rows: list[Row] = []
    for commit in range(first, first + number):
        key = chance.randint(1, KEYS)
        placed = {"partition": key % 2}
        values: dict[str, Any] = {"name": f"n{commit}", "weight": float(commit), "song": chance.choice(["la", None])}
        late = commit if chance.random() < 0.8 else max(1, commit - chance.randint(1, number))
        kinds = {"put": 4, "patch": 4, "delete": 2, "move": 3, "truncate": 0.2, "repeat": 2, "control": 0.5}
        match chance.choices(list(kinds), list(kinds.values()))[0]:
            case "put":
                rows.append(change(chance.choice(["insert", "read"]), late, key, **placed, **values))
            case "patch":
                without = chance.sample(COLUMNS[1:], chance.randint(1, 2))
                rows.append(change("update", late, key, **placed, **values, without=without))
            case "delete":
                rows += [change("delete", late, key, **placed), change("tombstone", None, key, **placed)]
            case "move":
                new, without = chance.randint(1, KEYS), chance.sample(COLUMNS[1:], chance.randint(1, 3))
                if new != key:
                    moved = change("insert", late, new, partition=new % 2, **values, without=without, other=key)
                    rows += [change("delete", late, key, **placed), moved]
            case "truncate":
                rows.append(change("truncate", commit))
            case "repeat" if rows:
                again = chance.choice(rows)
                if again["after"] and chance.random() < 0.3:
                    again = again | {"after": again["after"] | {"name": "impostor"}}
                rows.append(again)
            case _:
                rows.append(change("control", commit))
    return rows


@pytest.mark.soak
@pytest.mark.parametrize("deletes", ["hard", "soft"])
def test_both_folds_agree_run_by_run(sql_lake: Lake, spark_on: SparkOn, deletes: Any) -> None:
    declared = Mirror(name=BIRDS, changelog=LOG, deletes=deletes, lateness=timedelta(seconds=20))
    lake = MirroredLake(open_catalog(sql_lake.settings), declared)
    chance = random.Random(7)
    with spark_on(sql_lake.settings) as spark:
        for run in range(5):
            lake.ingest(*history(chance, 1 + run * 60, 60))
            attempt = Attempt(run_id=f"run-{run}", step=f"mirror:{BIRDS}")
            mirror(MirrorStep(lake.tables, lake.catalog, lambda: nullcontext(spark), attempt))
            proof = audit_mirror(lake.catalog, lake.tables, lake.declarations)
            assert not proof.fold.findings, (run, proof.fold.findings)
            assert proof.holds, (run, proof.findings)
            if run == 1:
                make_checkpoint(lake.catalog, lake.tables)
        assert {row["reason"] for row in lake.rows(REFUSED)} >= {"contradiction"}
        again = check_fold(lake.catalog, lake.tables, begin="checkpoint")
        assert again.holds, again.findings
        mirror(
            MirrorStep(
                lake.tables, lake.catalog, lambda: nullcontext(spark), Attempt(run_id="rebuild", step="m"), rebuild=True
            )
        )
        proof = audit_mirror(lake.catalog, lake.tables, lake.declarations)
        assert proof.holds, proof.findings
