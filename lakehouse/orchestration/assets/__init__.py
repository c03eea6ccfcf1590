"""Every Iceberg table is an asset: factories for tables that one step changes together, or computes from others."""

from lakehouse.orchestration.assets.derived import derived_asset, derived_step
from lakehouse.orchestration.assets.maintenance import maintenance_asset
from lakehouse.orchestration.assets.mirror import mirror_asset
from lakehouse.orchestration.assets.other_catalogs import specs_elsewhere
from lakehouse.orchestration.assets.release import release_asset, release_step
from lakehouse.orchestration.assets.replay import replay_asset
from lakehouse.orchestration.assets.specs import mirror_keys, mirror_step, table_spec
from lakehouse.orchestration.assets.stream import stream_asset, stream_keys
from lakehouse.orchestration.assets.topics import topic_specs

__all__ = [
    "derived_asset",
    "derived_step",
    "maintenance_asset",
    "mirror_asset",
    "mirror_keys",
    "mirror_step",
    "release_asset",
    "release_step",
    "replay_asset",
    "specs_elsewhere",
    "stream_asset",
    "stream_keys",
    "table_spec",
    "topic_specs",
]
