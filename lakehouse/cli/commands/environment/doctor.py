"""`lakehouse doctor`: what is wrong here, before Spark starts, and what to do about each."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakehouse.cli.context import AsJson, Context, context_of, print_json
from lakehouse.cli.exit_codes import PROMISE_BROKEN
from lakehouse.cli.processes.run_context import ended_by_signals

if TYPE_CHECKING:
    from lakehouse.doctor import Diagnosis

_STYLES = {"well": "green", "warning": "yellow", "wrong": "bold red", "not asked": "dim"}


def doctor(
    ctx: typer.Context,
    *,
    catalog: Annotated[str, typer.Option(help="A file of conf/catalogs; default: the one that is selected.")] = "",
    platform: Annotated[str, typer.Option(help="A file of conf/platforms; default: the one that is selected.")] = "",
    kafka: Annotated[str, typer.Option(help="A file of conf/kafka; default: the one that is selected.")] = "",
    manifests: Annotated[Path | None, typer.Option(help="A folder of Kubernetes manifests to look at.")] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Make no table and no object, not for a second.")
    ] = False,
    spark: Annotated[bool, typer.Option("--spark", help="Start Spark too; let it write and delete a table.")] = False,
    as_json: AsJson = False,
) -> None:
    """Name each wrong or missing key before Spark starts: login, roles, storage, JARs, Java, Python, clock, ports.

    It makes a namespace, a table and an object of its own, and removes them. Exit 1: something is wrong.
    """
    from lakehouse.doctor import examine, examined, manifest_versions

    context = context_of(ctx)
    names = {"LAKEHOUSE_CATALOG": catalog, "LAKEHOUSE_PLATFORM": platform, "LAKEHOUSE_KAFKA": kafka}
    settings = context.settings_with({variable: name for variable, name in names.items() if name})
    if spark and read_only:
        raise typer.BadParameter("Spark writes a table; leave out --read-only or --spark")
    with ended_by_signals(), context.err.status("doctor"):
        findings = [
            *examine(settings, read_only=read_only),
            *(examined("manifests", manifest_versions(manifests)) if manifests is not None else []),
        ]
        if spark:
            from lakehouse.doctor.spark_storage import spark_storage

            findings += examined("spark", spark_storage(settings))
    _show(context, findings, as_json=as_json)
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(PROMISE_BROKEN)


def _show(context: Context, findings: "list[Diagnosis]", *, as_json: bool) -> None:
    if as_json:
        well = not any(finding.state == "wrong" for finding in findings)
        print_json({"well": well, "findings": [asdict(finding) for finding in findings]})
        return
    for finding in findings:
        remedy = f" Remedy: {finding.remedy}." if finding.remedy else ""
        context.tell(f"{finding.state:9} {finding.check}: {finding.message}{remedy}", _STYLES[finding.state])
