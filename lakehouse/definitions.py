"""What `dagster dev`, `dg` and the daemon load. Reads `conf/` and the declarations; connects to nothing."""

from lakehouse.garbage import uncollected

with uncollected():  # every run begins a process that loads this
    import dagster as dg

    from lakehouse.build import build_defs
    from lakehouse.settings import load_settings
    from lakehouse.settings.installed_package import refuse_namesake

refuse_namesake()
# Spark is the parallelism; a process per step would pay for a JVM each.
defs = build_defs(load_settings(), executor=dg.in_process_executor)
