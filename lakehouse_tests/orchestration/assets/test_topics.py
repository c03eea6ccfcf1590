"""A topic is one external asset, however many streams read it."""

import dagster as dg

from lakehouse.declarations import Stream, TopicPattern, Topics, ToTable
from lakehouse.orchestration.assets.topics import topic_keys, topic_specs
from lakehouse.orchestration.dagster_names import DagsterNames

FIRST = Stream(name="orders", topic="shop.orders-v1", route=ToTable("raw.orders"))
SECOND = Stream(name="orders_again", topic="shop.orders-v1", route=ToTable("raw.again"))


def test_streams_of_one_topic_share_its_asset() -> None:
    [spec] = topic_specs([FIRST, SECOND])
    assert [spec.key] == topic_keys(FIRST) == topic_keys(SECOND) == [dg.AssetKey(["topic", "shop.orders-v1"])]
    assert (spec.group_name, spec.kinds) == ("orders", {"kafka"})


def test_the_prefix_stands_before_topics_as_before_tables() -> None:
    names = DagsterNames(prefix=("corp", "lake"))
    assert topic_keys(FIRST, names)[0].path == ["corp", "lake", "topic", "shop.orders-v1"]


def test_a_stream_of_several_topics_has_an_asset_for_each_and_a_pattern_has_one() -> None:
    named = Stream(name="shop", topics=Topics("shop.orders-v1", "returns"), route=ToTable("raw.orders"))
    pattern = Stream(name="tenants", topics=TopicPattern("t[.].+"), route=ToTable("raw.t"))
    paths = [spec.key.path for spec in topic_specs([FIRST, named, pattern])]
    assert paths == [["topic", "shop.orders-v1"], ["topic", "returns"], ["topic", "pattern", "tenants"]]
