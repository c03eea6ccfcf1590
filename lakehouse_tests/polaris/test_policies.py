"""Polaris' policies beside what a table declares: each thing that one says is compared, or named as without a word."""

import itertools
import json
from datetime import timedelta
from typing import Any

import pandera.pyspark as pa
import pytest

from lakehouse import Expire, Maintenance, Orphans, Rewrite, Table
from lakehouse.polaris import PolarisApi, PolarisRefused
from lakehouse.polaris.policies import ApplicablePolicy, PolicySetting, applicable_policies, compare_policies
from lakehouse_tests.polaris.played_server import PlayedPolaris


class Flights(pa.DataFrameModel):
    """What there is to maintain."""

    id: int


def table(**parts: Any) -> Table:
    return Table(name="raw.flights", schema=Flights, description="x", owner="x", maintenance=Maintenance(**parts))


def policy(kind: str, **content: object) -> ApplicablePolicy:
    document = json.dumps({"version": "2025-02-03", "enable": True, **content})
    return ApplicablePolicy(policy_type=f"system.{kind}", name="ours", content=document)


def compared(declared: Table, *policies: ApplicablePolicy) -> dict[str, tuple[str, str, str, bool]]:
    return {
        setting.key: (setting.says, setting.setting, setting.declared, setting.agrees)
        for setting in compare_policies(declared, list(policies))
    }


def test_compaction() -> None:
    config = {
        "target_file_size_bytes": 134217728,
        "compaction_strategy": "bin-pack",
        "max-concurrent-file-group-rewrites": 5,
    }
    assert compared(table(rewrite=Rewrite(strategy="sort")), policy("data-compaction", config=config)) == {
        "enable": ("yes", "Maintenance.rewrite", "yes", True),
        "target_file_size_bytes": ("134217728", "Rewrite.target_file_size", "134217728", True),
        "compaction_strategy": ("binpack", "Rewrite.strategy", "sort", False),
        "max-concurrent-file-group-rewrites": ("5", "", "", False),
    }


def test_expiry() -> None:
    config = {"min_snapshot_to_keep": 20, "max_snapshot_age_days": 2, "max_ref_age_days": 3}
    declared = table(expire=Expire(max_snapshot_age=timedelta(days=2)))
    assert compared(declared, policy("snapshot-expiry", config=config)) == {
        "enable": ("yes", "Maintenance.expire", "yes", True),
        "min_snapshot_to_keep": ("20", "Expire.min_snapshots_to_keep", "20", True),
        "max_snapshot_age_days": ("2 days", "Expire.max_snapshot_age", "2 days", True),
        "max_ref_age_days": ("3", "", "", False),
    }


def test_orphans_and_manifests() -> None:
    declared = table(orphans=Orphans(older_than=timedelta(days=7)))
    stored = policy("orphan-file-removal", max_orphan_file_age_in_days=30, locations=["s3://a"])
    assert compared(declared, stored) == {
        "enable": ("yes", "Maintenance.orphans", "yes", True),
        "max_orphan_file_age_in_days": ("30 days", "Orphans.older_than", "7 days", False),
        "locations": ("s3://a", "", "", False),
    }
    assert compared(table(), policy("metadata-compaction", enable=False)) == {
        "enable": ("no", "Maintenance.manifests", "yes", False)
    }


@pytest.mark.parametrize("declared", [table(expire=None), table(excluded="by hand")])
def test_what_is_never_done_here_is_told_once(declared: Table) -> None:
    stored = policy("snapshot-expiry", config={"max_snapshot_age_days": 2})
    assert compared(declared, stored) == {"enable": ("yes", "Maintenance.expire", "no", False)}


def test_what_nobody_knows_is_named() -> None:
    other = ApplicablePolicy("theirs.masking", "masks", "{}")
    broken = ApplicablePolicy("system.snapshot-expiry", "ours", "{")
    assert not any(setting.agrees for setting in compare_policies(table(), [other, broken]))
    assert [setting.key for setting in compare_policies(table(), [other, broken])] == [
        "theirs.masking",
        "system.snapshot-expiry",
    ]


def test_an_inherited_one_says_where_from() -> None:
    stored = policy("metadata-compaction")
    stored.inherited, stored.namespace = True, ["raw"]
    assert next(compare_policies(table(), [stored])) == PolicySetting(
        "ours of raw", "enable", "yes", "Maintenance.manifests", "yes"
    )


def test_they_are_read_of_a_table(applied: PlayedPolaris, api: PolarisApi) -> None:
    assert applicable_policies(api, "lake_aws", "raw.flights") == []
    applied.tables.add(("lake_aws", "raw", "flights"))
    fields = {"policy-type": "system.snapshot-expiry", "name": "ours", "content": '{"enable": true}', "version": 0}
    applied.policies["lake_aws", "raw", "flights"] = [
        {**fields, "inheritable": True, "inherited": True, "namespace": ["raw"]}
    ]
    (applicable,) = applicable_policies(api, "lake_aws", "raw.flights")
    assert (applicable.policy_type, applicable.inherited, applicable.namespace) == (
        "system.snapshot-expiry",
        True,
        ["raw"],
    )


@pytest.mark.parametrize("tokens", ["a", "ab"])
def test_pages_that_come_again_and_again_end(
    applied: PlayedPolaris, api: PolarisApi, monkeypatch: pytest.MonkeyPatch, tokens: str
) -> None:
    endless, answer = itertools.cycle(tokens), applied.answer

    def paged(method: str, path: str, *rest: Any) -> tuple[int, Any]:
        if "applicable-policies" in path:
            return 200, {"applicable-policies": [], "next-page-token": next(endless)}
        return answer(method, path, *rest)

    monkeypatch.setattr(applied, "answer", paged)
    with pytest.raises(PolarisRefused, match=r"raw\.flights has no end"):
        applicable_policies(api, "lake_aws", "raw.flights")


def test_what_no_lake_could_do_is_shown_as_it_is() -> None:
    endless = policy("snapshot-expiry", config={"max_snapshot_age_days": 1e300})
    assert compared(table(), endless)["max_snapshot_age_days"][0] == "1e+300 days"
    deep = ApplicablePolicy("system.snapshot-expiry", "ours", '{"enable": true, "config": {"a": ' + "[" * 100_000)
    assert compared(table(), deep) == {"system.snapshot-expiry": ("a content that is none of Polaris", "", "", False)}
