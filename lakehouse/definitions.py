"""What `dagster dev`, `dg` and the daemon load. Reads `conf/` and the declarations; connects to nothing."""

from lakehouse.build import build_defs
from lakehouse.settings import load_settings

defs = build_defs(load_settings())
