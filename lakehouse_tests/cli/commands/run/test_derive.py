"""The words of `lakehouse derive`; what it computes: `orchestration/assets/test_derived.py`."""

import pytest

from lakehouse.cli.commands.run.derive import NothingToDerive, UnknownParameter, _chosen, parsed_parameters
from lakehouse_tests.steps.derived.inputs.test_component import DIAMOND

DECLARED = {"share": 0.5, "days": 7, "zone": "east", "strict": True}


def test_parameters_are_read_as_the_kind_that_is_declared() -> None:
    words = ["share=1", "days=3", "zone=15", "strict=false"]
    assert parsed_parameters(words, DECLARED) == {"share": 1.0, "days": 3, "zone": "15", "strict": False}
    assert parsed_parameters([], DECLARED) == {}
    assert parsed_parameters(["zone=a=b"], DECLARED) == {"zone": "a=b"}


@pytest.mark.parametrize("word", ["share", "shar=1", "days=1.5", "strict=yes", "days=many"])
def test_what_is_no_parameter_is_refused(word: str) -> None:
    with pytest.raises(UnknownParameter):
        parsed_parameters([word], DECLARED)


def test_upstream_tables_come_along_in_an_order_that_works() -> None:
    assert _chosen(["d.tip"], DIAMOND, upstream=False) == ["d.tip"]
    assert set(_chosen(["d.tip"], DIAMOND, upstream=True)) == {"d.left", "d.right", "d.tip"}
    assert _chosen([], DIAMOND, upstream=False) == list(DIAMOND)
    with pytest.raises(NothingToDerive):
        _chosen([], {}, upstream=False)
