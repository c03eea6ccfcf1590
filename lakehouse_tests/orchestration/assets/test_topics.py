"""A topic is one external asset, however many streams read it."""

import dagster as dg

from lakehouse.declarations import Stream, ToTable
from lakehouse.orchestration.assets.topics import topic_key, topic_specs
from lakehouse.orchestration.dagster_names import DagsterNames

FIRST = Stream(name="orders", topic="shop.orders-v1", route=ToTable("raw.orders"))
SECOND = Stream(name="orders_again", topic="shop.orders-v1", route=ToTable("raw.again"))


def test_streams_of_one_topic_share_its_asset() -> None:
    [spec] = topic_specs([FIRST, SECOND])
    assert spec.key == topic_key(FIRST) == topic_key(SECOND) == dg.AssetKey(["topic", "shop.orders-v1"])
    assert (spec.group_name, spec.kinds) == ("orders", {"kafka"})


def test_the_prefix_stands_before_topics_as_before_tables() -> None:
    names = DagsterNames(prefix=("corp", "lake"))
    assert topic_key(FIRST, names).path == ["corp", "lake", "topic", "shop.orders-v1"]
