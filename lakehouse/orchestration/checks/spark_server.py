"""The Spark Connect server as an asset that nobody makes, and a check whether it answers; the check needs no Spark.

Anybody may run the check. `lakehouse dev` tells its result by itself when the server ends, and when it is back.
"""

import dagster as dg

from lakehouse.engines.spark import Remote, SparkUnreachable
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake

_SERVER = ("servers", "spark_connect")
NAME = "answers"
_DESCRIPTION = "Whether the Spark Connect server answers. While it does not, no step can move data."


def server_key(names: DagsterNames = DEFAULT_NAMES) -> dg.AssetKey:
    """The key of the asset that stands for the server."""
    return dg.AssetKey([*names.prefix, *_SERVER])


def spark_server(names: DagsterNames = DEFAULT_NAMES) -> dg.AssetSpec:
    """The asset that stands for the server."""
    return dg.AssetSpec(
        server_key(names),
        group_name="servers",
        kinds={"spark"},
        description="The Spark Connect server on which all steps run.",
    )


def spark_server_check(names: DagsterNames = DEFAULT_NAMES) -> dg.AssetChecksDefinition:
    """Make the check; it asks whether somebody listens at the platform's address."""

    @dg.asset_check(asset=server_key(names), name=NAME, description=_DESCRIPTION)
    @names.resources
    def spark_connect_answers(lake: dg.ResourceParam[Lake]) -> dg.AssetCheckResult:
        remote = Remote.of(lake.settings)
        where = {"address": f"{remote.host}:{remote.port}"}
        try:
            remote.require()
        except SparkUnreachable as silent:
            return dg.AssetCheckResult(passed=False, description=str(silent), metadata=where)
        return dg.AssetCheckResult(passed=True, description=f"It answers at {where['address']}.", metadata=where)

    return spark_connect_answers


def server_result(sentence: str, names: DagsterNames = DEFAULT_NAMES, *, answers: bool) -> dg.AssetCheckEvaluation:
    """A result of the check from whoever keeps the server running.

    Args:
        sentence: what happened.
        names: how Dagster knows the server.
        answers: whether the server answers now.
    """
    return dg.AssetCheckEvaluation(asset_key=server_key(names), check_name=NAME, passed=answers, description=sentence)
