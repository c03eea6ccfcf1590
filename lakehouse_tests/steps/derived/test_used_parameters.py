"""What a computation has read of its parameters: those by name, or all where nobody can tell."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa
import pytest
from pyspark import cloudpickle

from lakehouse.settings import Parameter
from lakehouse.steps.derived.refusals import ParameterNotDeclared
from lakehouse.steps.derived.used_parameters import UsedParameters

VALUES: dict[str, Parameter] = {"least": 2, "city": "Kiel", "share": 0.5}
EVERY = frozenset(VALUES)


@pytest.fixture
def parameters() -> UsedParameters:
    return UsedParameters("mart.x: function x", VALUES)


@pytest.mark.parametrize(
    ("read", "used"),
    [
        (lambda p: p["least"], {"least"}),
        (lambda p: (p.get("city"), p.get("nothing", 3)), {"city"}),
        (lambda p: "least" in p, {"least"}),
        (lambda p: "other" in p, set[str]()),
        (lambda p: list(reversed(p)), EVERY),
        (lambda p: p != {"x": 1}, EVERY),
        ("{city}".format_map, {"city"}),
        (lambda p: p.named_in("SELECT x::int, ts WHERE a >= :least AND b = :other"), {"least"}),
        (dict, EVERY),
        (list, EVERY),
        (lambda p: {**p}, EVERY),
        (lambda p: p | {"x": 1}, EVERY),
        (lambda p: {"x": 1} | p, EVERY),
        (lambda p: list(p.items()), EVERY),
        (lambda p: list(p.values()), EVERY),
        (lambda p: p.copy(), EVERY),
        (copy.deepcopy, EVERY),
        (lambda p: p == {"x": 1}, EVERY),
        (str, EVERY),
        (lambda p: cloudpickle.dumps(lambda row: p["least"]), EVERY),
    ],
)
def test_what_is_read_is_noted(parameters: UsedParameters, read: Callable[[Any], object], used: set[str]) -> None:
    assert parameters.used == frozenset()
    read(parameters)
    assert parameters.used == used


@pytest.mark.parametrize(
    "read",
    [
        json.dumps,
        msgspec.json.encode,
        msgspec.to_builtins,
        lambda p: msgspec.convert(p, dict[str, Any]),
        lambda p: pa.array([p], pa.struct([("least", pa.int64())])),
        lambda p: pl.DataFrame([p]).rows(named=True)[0]["least"],
        lambda p: pl.from_dicts([p]),
    ],
)
def test_what_is_written_in_c_reads_nothing_unnoted(parameters: UsedParameters, read: Callable[[Any], object]) -> None:
    """A seal would say that no parameter was used, and rows of other values would pass for one vintage."""
    try:
        read(parameters)
    except Exception:  # noqa: BLE001 - each library has its own
        return
    assert parameters.used == EVERY


def test_workers_of_spark_get_a_plain_mapping(parameters: UsedParameters) -> None:
    sent = pickle.loads(pickle.dumps(parameters))
    assert (type(sent), sent) == (dict, VALUES)


def test_a_slip_is_told_by_name(parameters: UsedParameters) -> None:
    with pytest.raises(ParameterNotDeclared, match=r"'lest', which is not declared \(there is city, least, share\)"):
        parameters["lest"]
