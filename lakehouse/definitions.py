"""What `dagster dev`, `dg` and the daemon load. Reads `conf/` and the declarations; connects to nothing."""

from lakehouse.build import build_defs
from lakehouse.settings import load_settings
from lakehouse.settings.distribution import refuse_namesake

refuse_namesake()
defs = build_defs(load_settings())
