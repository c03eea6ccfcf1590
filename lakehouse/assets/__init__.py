"""Every Iceberg table is an asset: a factory for the tables of a stream, which change together."""

from lakehouse.assets.specs import table_spec
from lakehouse.assets.stream import stream_asset, stream_keys

__all__ = ["stream_asset", "stream_keys", "table_spec"]
