"""What `dagster dev` starts, with our web server in the place of Dagster's: code server, daemon and UI, ended as one.

The code server is supervised by Dagster's own manager, which starts it again; if daemon or UI end, all do.
"""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import dagster as dg
import typer
import yaml
from dagster._cli.proxy_server_manager import ProxyServerManager
from dagster._core.workspace.load_target import ModuleTarget
from dagster._utils.interrupts import setup_interrupt_handlers

MODULE = "lakehouse.definitions"
_STOP_WITHIN = 60.0
_LOOK_SECONDS = 0.5


def dagster_services(
    host: Annotated[str, typer.Option(help="The address of the UI.")],
    port: Annotated[int, typer.Option(help="The port of the UI.")],
    *,
    read_only: Annotated[bool, typer.Option("--read-only", help="The UI changes nothing.")] = False,
) -> None:
    """Run Dagster's services until a signal comes, or one of them ends."""
    os.environ["DAGSTER_IS_DEV_CLI"] = "1"  # the code server logs its errors itself
    setup_interrupt_handlers()
    target = ModuleTarget(MODULE, attribute=None, working_directory=None, location_name=None)
    with (
        dg.DagsterInstance.get() as instance,
        ProxyServerManager(instance, target, code_server_log_level="warning") as code,
        tempfile.TemporaryDirectory() as folder,
    ):
        workspace = Path(folder) / "workspace.yaml"
        workspace.write_text(yaml.dump({"load_from": code.get_code_server_specs()}))
        ui = ["lakehouse.orchestration.web.server", "--host", host, "--port", str(port), *(["--read-only"] * read_only)]
        commands = {"web server": ui, "daemon": ["dagster._daemon", "run"]}
        started = {
            name: subprocess.Popen([sys.executable, "-m", *command, "--workspace", str(workspace)])
            for name, command in commands.items()
        }
        try:
            with suppress(KeyboardInterrupt):
                _await_end(started)
        finally:
            for service in started.values():
                service.terminate()
            for service in started.values():
                _stopped(service)


def _await_end(services: "dict[str, subprocess.Popen[bytes]]") -> None:
    while True:
        for name, service in services.items():
            if (code := service.poll()) is not None:
                sys.exit(f"Dagster's {name} ended with code {code}.")
        time.sleep(_LOOK_SECONDS)


def _stopped(service: "subprocess.Popen[bytes]") -> None:
    try:
        service.wait(_STOP_WITHIN)
    except subprocess.TimeoutExpired:
        service.kill()


if __name__ == "__main__":
    typer.run(dagster_services)
