"""Dagster's web server with a guard before it; `lakehouse dev` starts it in the place of Dagster's own.

Dagster's takes mutations by GET, and by POST without a body, from any origin and under any name: a web page that is
open in the same browser could start runs. `python -m lakehouse.orchestration.web.server` runs this one alone.
"""

from typing import Annotated, Any

import dagster as dg
import typer
import uvicorn
from dagster._core.workspace.context import WorkspaceProcessContext, WorkspaceRequestContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.version import __version__
from dagster_webserver.webserver import DagsterWebserver
from graphql import GraphQLError, OperationDefinitionNode, OperationType, parse
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from typing_extensions import override

from lakehouse.orchestration.web.request_guard import LOOPBACK, RequestGuard

# As `dagster-webserver` has them: milliseconds for a statement, seconds of a pooled connection, further connections.
_DATABASE = (15_000, 3_600, 20)
_POLL_MILLISECONDS = 2_000


class GuardedWebserver(DagsterWebserver[WorkspaceProcessContext, WorkspaceRequestContext]):
    """Dagster's web server, which answers its own page and local programs alone."""

    def __init__(self, context: WorkspaceProcessContext, host: str) -> None:
        """Serve a workspace.

        Args:
            context: of the workspace; it says whether anything may be changed (`read_only`).
            host: the address that the server listens on.
        """
        self._host = host
        super().__init__(context, live_data_poll_rate=_POLL_MILLISECONDS)

    @override
    def build_middleware(self) -> list[Middleware]:
        return [Middleware(RequestGuard, hosts={*LOOPBACK, self._host}), *super().build_middleware()]

    @override
    async def execute_graphql_request(
        self, request: Request, query: str, variables: dict[str, Any] | None, operation_name: str | None
    ) -> JSONResponse:
        if request.method != "POST" and not _only_reads(query):
            message = "What changes something is sent by POST, as content-type application/json."
            return JSONResponse({"data": None, "errors": [{"message": message}]}, status_code=405)
        return await super().execute_graphql_request(request, query, variables, operation_name)


def _only_reads(query: str) -> bool:
    try:
        definitions = parse(query).definitions
    except GraphQLError:
        return True  # there is nothing to execute, and Dagster says what is wrong
    operations = [definition.operation for definition in definitions if isinstance(definition, OperationDefinitionNode)]
    return all(operation is OperationType.QUERY for operation in operations)


def web_server(
    host: Annotated[str, typer.Option(help="The address to listen on.")],
    port: Annotated[int, typer.Option(help="The port to listen on.")],
    workspace: Annotated[str, typer.Option(help="The workspace file: where code servers are.")],
    *,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show everything, change nothing.")] = False,
) -> None:
    """Serve Dagster's UI until it is ended."""
    with dg.DagsterInstance.get() as instance:
        instance.optimize_for_webserver(*_DATABASE)
        with WorkspaceProcessContext(
            instance, WorkspaceFileTarget([workspace]), version=__version__, read_only=read_only
        ) as context:
            app = GuardedWebserver(context, host).create_asgi_app()
            uvicorn.run(app, host=host, port=port, log_level="warning")


if __name__ == "__main__":
    typer.run(web_server)
