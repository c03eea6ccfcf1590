"""Which tables are computed together, and what is held for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.declarations import Derived
from lakehouse.steps.derived.inputs.component import component_of, external_inputs, upstream_of
from lakehouse_tests.steps.derived.workshop import TOTALS, table_of


def declared(**inputs: list[str]) -> dict[str, Derived]:
    """Derived tables `d.<name>` by what they are computed from."""
    return {
        f"d.{name}": Derived(
            table=table_of(f"d.{name}", TOTALS, derived=True),
            inputs={f"a{n}": name for n, name in enumerate(of)},
            compute="SELECT 1",
        )
        for name, of in inputs.items()
    }


DIAMOND = declared(left=["r.a"], right=["r.a", "r.b"], tip=["d.left", "d.right"], other=["r.c"], side=["r.b"])


def test_tables_that_share_an_input_are_one_component_in_an_order_that_works() -> None:
    order = component_of("d.left", DIAMOND)
    assert set(order) == {"d.left", "d.right", "d.tip", "d.side"}
    assert order.index("d.tip") > max(order.index("d.left"), order.index("d.right"))
    assert component_of("d.other", DIAMOND) == ["d.other"]


def test_what_nobody_derives_is_external() -> None:
    assert set(external_inputs(component_of("d.tip", DIAMOND), DIAMOND)) == {"r.a", "r.b"}


def test_upstream_is_what_a_table_is_computed_from_and_the_table() -> None:
    assert upstream_of("d.tip", DIAMOND)[-1] == "d.tip"
    assert set(upstream_of("d.tip", DIAMOND)) == {"d.left", "d.right", "d.tip"}
    assert upstream_of("d.side", DIAMOND) == ["d.side"]


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True), min_size=1, max_size=6))
def test_components_divide_the_tables_and_share_no_input(inputs: list[list[int]]) -> None:
    derived = declared(**{f"t{n}": [f"r.r{i}" for i in of] for n, of in enumerate(inputs)})
    components = {frozenset(component_of(name, derived)) for name in derived}
    assert sorted(name for component in components for name in component) == sorted(derived)
    inputs_of = [set(external_inputs(component, derived)) for component in components]
    assert sum(map(len, inputs_of)) == len(set().union(*inputs_of))


@pytest.mark.parametrize("name", ["d.tip", "d.side"])
def test_a_component_is_the_same_whoever_asks(name: str) -> None:
    assert component_of(name, DIAMOND) == component_of("d.left", DIAMOND)
