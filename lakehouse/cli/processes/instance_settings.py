"""What a Dagster instance that is not ours has to be set to, so that runs take turns and dead ones are ended.

It is for peace, not for safety: the fence of the commit protocol holds without it, and work would be in vain.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from dagster._core.instance.config import PoolGranularity

from lakehouse.cli.context import Context
from lakehouse.cli.processes.run_context import say

FILE = "dagster.yaml"
_MOST_RUNS = 2


@dataclass(frozen=True)
class MissingSetting:
    """A setting that an instance has not.

    Args:
        why: what goes wrong without it.
        content: what its file should say.
    """

    why: str
    content: dict[str, Any]


def missing_settings(instance: dg.DagsterInstance) -> Iterator[MissingSetting]:
    """What is to be added to the instance's dagster.yaml, each with its reason."""
    concurrency = instance.get_concurrency_config()
    pools, queue = concurrency.pool_config, concurrency.run_queue_config
    if pools.pool_granularity is not PoolGranularity.RUN or pools.default_pool_limit is None:
        yield MissingSetting(
            "two runs may work on the same tables at once, and one of them in vain",
            {"concurrency": {"pools": {"granularity": "run", "default_limit": pools.default_pool_limit or 1}}},
        )
    if queue is None:
        yield MissingSetting(
            "runs are not queued, so they wait for no pool",
            {"run_coordinator": {"module": "dagster.core.run_coordinator", "class": "QueuedRunCoordinator"}},
        )
    if queue is None or queue.max_concurrent_runs < 0:
        yield MissingSetting(
            "nothing bounds how many runs start Spark at once",
            {"concurrency": {"runs": {"max_concurrent_runs": _MOST_RUNS}}},
        )
    if not instance.run_monitoring_enabled:
        yield MissingSetting(
            "a run whose process died keeps its pool for ever",
            {"run_monitoring": {"enabled": True, "free_slots_after_run_end_seconds": 10}},
        )


def name_missing_settings(context: Context, instance: dg.DagsterInstance, home: Path) -> None:
    """Say what is to be added to another's dagster.yaml, and why; nothing where all is there.

    Args:
        context: of the command.
        instance: that is not ours.
        home: its folder.
    """
    missing = list(missing_settings(instance))
    if not missing:
        return
    say(context, f"{home / FILE} should say more: {'; '.join(setting.why for setting in missing)}. Add:")
    for line in yaml.safe_dump(_merged(missing), sort_keys=False).splitlines():
        say(context, f"  {line}")


def _merged(missing: list[MissingSetting]) -> dict[str, Any]:
    lines: dict[str, Any] = {}
    for setting in missing:
        for section, keys in setting.content.items():
            lines.setdefault(section, {}).update(keys)
    return lines
