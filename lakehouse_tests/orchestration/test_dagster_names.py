"""How Dagster knows what is ours."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest

from lakehouse.orchestration.dagster_names import DagsterNames, ResourceKeysInvalid

PREFIXED = DagsterNames(prefix=("corp", "lake"))


@pytest.mark.parametrize("names", [DagsterNames(), PREFIXED])
def test_the_key_of_a_table_leads_back_to_it(names: DagsterNames) -> None:
    key = names.key("raw.flights")
    assert tuple(key.path) == (*names.prefix, "raw", "flights")
    assert names.table(key) == "raw.flights"


def test_assets_of_others_keep_their_names() -> None:
    assert PREFIXED.table(dg.AssetKey(["corp", "sales"])) == "corp.sales"


@pytest.mark.parametrize("keys", [{"spark": "lake"}, {"lake": "the lake"}, {"io_manager": ""}])
def test_keys_that_dagster_cannot_tell_apart_are_refused(keys: dict[str, str]) -> None:
    with pytest.raises(ResourceKeysInvalid):
        DagsterNames(**keys)  # pyright: ignore


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("class", "'class'.*a keyword of Python"),
        ("None", "'None'.*a keyword of Python.*such as lake_none"),
        ("context", "'context'.*the context of a function"),
        ("config", "'config'.*the config of a function"),
        ("io_manager", "'io_manager'.*Dagster's own I/O manager.*such as lake_io_manager"),
    ],
)
def test_a_key_with_a_meaning_of_its_own_is_refused_by_name(key: str, words: str) -> None:
    with pytest.raises(ResourceKeysInvalid, match=words):
        DagsterNames(spark=key)


def test_a_step_gets_its_resources_by_the_chosen_keys() -> None:
    names = DagsterNames(lake="tables", spark="sessions")

    @dg.multi_asset(specs=[dg.AssetSpec("sum")])
    @names.resources
    def summed(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[int], spark: dg.ResourceParam[int]
    ) -> Iterator[dg.MaterializeResult[Any]]:
        yield dg.MaterializeResult(metadata={"difference": lake - spark})

    assert not summed.required_resource_keys & {"lake", "spark"}
    assert summed.required_resource_keys >= {"tables", "sessions"}
    others = {"spark": object(), "lake": object()}
    result = dg.materialize([summed], resources={"tables": 5, "sessions": 3, **others})
    [event] = result.get_asset_materialization_events()
    assert event.materialization.metadata["difference"].value == 2


def test_a_table_of_another_catalog_has_a_key_that_an_asset_may_depend_on() -> None:
    key = PREFIXED.key("polaris-aws:raw.sales")
    assert key.path == ["corp", "lake", "polaris-aws", "raw", "sales"]

    @dg.multi_asset(specs=[dg.AssetSpec("total", deps=[key])])
    def total() -> None: ...

    assert total.dependency_keys == {key}
