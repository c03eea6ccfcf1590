"""Which partitions are of which parameters and inputs."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lakehouse.steps.derived.partition_provenance import mixed
from lakehouse.steps.derived.parts import DerivedPart, part_of
from lakehouse_tests.steps.derived.test_partitions import BY_DAY, declared


def test_which_partitions_are_of_which_parameters_is_never_forgotten() -> None:
    days = declared(replace(BY_DAY, end=None))
    whole, first, two = DerivedPart(days), part_of(days, ["2013-01-01"]), part_of(days, ["2013-01-02", "2013-01-03"])
    mixture: dict[str, tuple[str, ...]] = mixed({}, first, "a", appending=False)
    assert mixture == {"a": ("2013-01-01",)}
    mixture = mixed(mixture, two, "a", appending=False)
    assert mixture == {"a": ("2013-01-01..2013-01-03",)}
    mixture = mixed(mixture, first, "b", appending=False)
    assert mixture == {"a": ("2013-01-02..2013-01-03",), "b": ("2013-01-01",)}
    assert mixed(mixture, two, "b", appending=False) == {"b": ("2013-01-01..2013-01-03",)}
    mixture = mixed(mixture, whole, "c", appending=False)
    assert mixture == {"c": ("*",)}
    mixture = mixed(mixture, first, "d", appending=False)
    assert mixture == {"c": ("*",), "d": ("2013-01-01",)}
    assert mixed(mixture, first, "c", appending=False) == {"c": ("*",)}
    assert mixed({"a": ("*",)}, whole, "b", appending=True) == {"a": ("*",), "b": ("*",)}


@given(st.lists(st.tuples(st.sets(st.integers(1, 4), max_size=3), st.sampled_from("abc")), max_size=8))
def test_a_mixture_is_what_a_model_that_keeps_every_partition_says(runs: list[tuple[set[int], str]]) -> None:
    table = declared(BY_DAY)
    keys = [f"2013-01-0{n}" for n in range(1, 5)]
    model: dict[str, str] = {}
    mixture: dict[str, tuple[str, ...]] = {}
    for numbers, digest in runs:
        chosen = [keys[n - 1] for n in sorted(numbers)]
        mixture = mixed(mixture, part_of(table, chosen), digest, appending=False)
        model |= dict.fromkeys(chosen or keys, digest)
    named = {key: digest for digest, shown in mixture.items() for key in DerivedPart(table).keys_in(shown)}
    rest = [digest for digest, shown in mixture.items() if "*" in shown]
    assert {key: named.get(key) or next(iter(rest), None) for key in keys if key in model} == model
