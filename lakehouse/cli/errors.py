"""An error of ours is one clear line and exit code 2; an error in the program keeps its traceback."""

from typing import Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from lakehouse.errors import LakehouseError

PROMISE_BROKEN = 1
COULD_NOT_RUN = 2


class OneLinePerError(TyperGroup):
    """The group of verbs."""

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        try:
            return super().invoke(ctx)
        except LakehouseError as error:
            line = Text.assemble(("error: ", "bold red"), error.message)
            if error.remedy:
                line.append(f" Remedy: {error.remedy}", "bold")
            Console(stderr=True).print(line, soft_wrap=True)
            raise typer.Exit(COULD_NOT_RUN) from None
