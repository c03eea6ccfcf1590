"""`lakehouse jars`: bring the JARs that Spark and the broker load, and check them."""

import typer

from lakehouse.cli.context import context_of
from lakehouse.engines.jars import fetch_jars


def jars(ctx: typer.Context) -> None:
    """Fetch what is missing of the locked JARs with Maven, and verify all by SHA-256."""
    context = context_of(ctx)
    conf, folder = context.settings.conf, context.settings.state.jars
    for project, name in (("jars", "spark"), ("broker", "broker")):
        pom, lock = conf / project / "pom.xml", conf / project / "jars.sha256"
        verified = fetch_jars(pom, folder / name, lock, console=context.err)
        context.err.print(f"{len(verified)} JARs of {name} verified", highlight=False)
