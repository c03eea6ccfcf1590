"""Tells the terminal and Dagster's UI what becomes of the servers of `lakehouse dev`."""

from collections.abc import Mapping

import dagster as dg

from lakehouse.cli.context import Context
from lakehouse.cli.processes.run_context import SPARK_CONNECT, say
from lakehouse.cli.processes.supervision import Server, Supervised
from lakehouse.orchestration.checks.spark_server import server_result
from lakehouse.orchestration.dagster_names import DagsterNames


def supervised(context: Context, instance: dg.DagsterInstance, servers: Mapping[str, Server]) -> list[Supervised]:
    """The servers, to be looked at every second or so; what happens to them is told.

    Args:
        context: of the command.
        instance: where a check is to fail while Spark does not answer.
        servers: those that run, by name.
    """
    names = DagsterNames.of(context.settings)

    def tell(name: str, sentence: str, answers: bool) -> None:  # noqa: FBT001
        say(context, sentence)
        if name == SPARK_CONNECT:
            instance.report_runless_asset_event(server_result(sentence, names, answers=answers))

    return [
        Supervised(name, server, lambda sentence, answers, name=name: tell(name, sentence, answers))
        for name, server in servers.items()
    ]
