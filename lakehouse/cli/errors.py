"""An error of ours is one clear line; any other keeps its traceback. Both end with 2: 1 means a broken promise.

Where nobody reads the output any more, as after `| head -1`, the command ends without a word.
"""

import sys
import traceback
from pathlib import Path
from typing import Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from lakehouse.cli.console import SafeConsole, discard_output, is_reader_gone
from lakehouse.cli.context import Context
from lakehouse.errors import LakehouseError
from lakehouse.settings.storage_refusal import StorageRefused, storage_refusal

PROMISE_BROKEN = 1
COULD_NOT_RUN = 2
READER_GONE = 141  # as a shell says it of a program that the closed pipe has ended


class OneLinePerError(TyperGroup):
    """The group of verbs."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command line."""
        try:
            return super().main(*args, **kwargs)
        except Exception:  # noqa: BLE001 - Python would end with 1, which means that a promise is broken
            traceback.print_exc()
            sys.exit(COULD_NOT_RUN)

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        try:
            return self._whole(ctx)
        except BrokenPipeError:
            if not is_reader_gone():
                raise
            discard_output()
            raise typer.Exit(READER_GONE) from None
        except LakehouseError as error:
            _tell(error)
            raise typer.Exit(COULD_NOT_RUN) from None
        except Exception as error:
            root = _state_folder(ctx.find_object(Context))
            if root is None or (refusal := storage_refusal(error, root)) is None:
                raise
            _tell(StorageRefused(f"The state folder {root}", refusal))
            raise typer.Exit(COULD_NOT_RUN) from None

    def _whole(self, ctx: Any) -> Any:
        """Run it, and end with 2 where something was left out."""
        result = self._flushed(ctx)
        context = ctx.find_object(Context)
        if context is not None and context.incomplete:
            raise typer.Exit(COULD_NOT_RUN)
        return result

    def _flushed(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        finally:
            sys.stdout.flush()


def _state_folder(context: Context | None) -> Path | None:
    """Where the state is; None where the settings cannot say it, of which the error in hand is not to be hidden."""
    try:
        return None if context is None else context.settings.state.root
    except LakehouseError:
        return None


def _tell(error: LakehouseError) -> None:
    line = Text.assemble(("error: ", "bold red"), error.message)
    if error.remedy:
        line.append(f" Remedy: {error.remedy}", "bold")
    SafeConsole(stderr=True).print(line, soft_wrap=True)
