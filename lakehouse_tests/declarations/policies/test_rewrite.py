"""Rewriting as declared: what it refuses, and which sizes follow. What all parts have in common: `test_maintenance`."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from lakehouse.declarations import DeclarationError, Rewrite

MIB = 1024**2


def test_a_field_that_is_gone_has_no_effect_and_is_named_for_one_release() -> None:
    with pytest.warns(FutureWarning, match="min_gain_per_mib has no effect.*Remedy: remove it from the decl") as caught:
        given = Rewrite(min_gain_per_mib=0.5)
    assert caught[0].filename == __file__
    assert replace(given, min_input_files=7) == Rewrite(min_input_files=7)
    assert b"min_gain_per_mib" not in msgspec.json.encode(given)


@pytest.mark.parametrize(
    "given",
    [
        {"strategy": "fast"},
        {"strategy": "zorder"},
        {"zorder_by": ("id",)},
        {"target_file_size": 1},
        {"min_file_size_ratio": 1.0},
        {"max_file_size_ratio": 1.0},
        {"min_input_files": 1},
        {"delete_file_threshold": 0},
        {"delete_ratio_threshold": 0.0},
        {"max_group_bytes": MIB},
        {"to_format": "orc"},
        {"quiet_for": timedelta(minutes=-1)},
        {"every_commits": 0},
    ],
)
def test_what_cannot_work_is_refused_where_it_is_declared(given: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError, match=rf"Rewrite\.{next(iter(given))}|zorder_by"):
        Rewrite(**given)


def test_a_file_is_too_small_or_too_large_by_its_share_of_the_target() -> None:
    rewrite = Rewrite(target_file_size=100 * MIB, min_file_size_ratio=0.5, max_file_size_ratio=2.0)
    assert (rewrite.min_file_size, rewrite.max_file_size) == (50 * MIB, 200 * MIB)
