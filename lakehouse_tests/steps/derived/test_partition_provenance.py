"""Which partitions are of which parameters and inputs."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lakehouse.steps.derived.partition_provenance import mixed
from lakehouse.steps.derived.parts import DerivedPart, part_of
from lakehouse_tests.steps.derived.test_partitions import BY_DAY, declared


def test_which_partitions_are_of_which_parameters_is_never_forgotten() -> None:
    days = declared(replace(BY_DAY, end=None))
    whole, one, two = DerivedPart(days), part_of(days, ["2013-01-01"]), part_of(days, ["2013-01-02", "2013-01-03"])
    found: dict[str, tuple[str, ...]] = mixed({}, one, "a", appending=False)
    assert found == {"a": ("2013-01-01",)}
    found = mixed(found, two, "a", appending=False)
    assert found == {"a": ("2013-01-01..2013-01-03",)}
    found = mixed(found, one, "b", appending=False)
    assert found == {"a": ("2013-01-02..2013-01-03",), "b": ("2013-01-01",)}
    assert mixed(found, two, "b", appending=False) == {"b": ("2013-01-01..2013-01-03",)}
    found = mixed(found, whole, "c", appending=False)
    assert found == {"c": ("*",)}
    found = mixed(found, one, "d", appending=False)
    assert found == {"c": ("*",), "d": ("2013-01-01",)}
    assert mixed(found, one, "c", appending=False) == {"c": ("*",)}
    assert mixed({"a": ("*",)}, whole, "b", appending=True) == {"a": ("*",), "b": ("*",)}


@given(st.lists(st.tuples(st.sets(st.integers(1, 4), max_size=3), st.sampled_from("abc")), max_size=8))
def test_a_mixture_is_what_a_model_that_keeps_every_partition_says(runs: list[tuple[set[int], str]]) -> None:
    table = declared(BY_DAY)
    keys = [f"2013-01-0{n}" for n in range(1, 5)]
    model: dict[str, str] = {}
    found: dict[str, tuple[str, ...]] = {}
    for numbers, digest in runs:
        chosen = [keys[n - 1] for n in sorted(numbers)]
        found = mixed(found, part_of(table, chosen), digest, appending=False)
        model |= dict.fromkeys(chosen or keys, digest)
    named = {key: digest for digest, shown in found.items() for key in DerivedPart(table).keys_in(shown)}
    rest = [digest for digest, shown in found.items() if "*" in shown]
    assert {key: named.get(key) or next(iter(rest), None) for key in keys if key in model} == model
