"""An error of ours is one clear line, and so is what catalog, disk or system refuse. All end with 2: 1 means broken.

Whatever else is raised is an error in the program, and keeps its traceback. Where nobody reads the output any more, as
after `| head -1`, the command ends without a word.
"""

import sys
import traceback
from typing import Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from lakehouse.cli.console import SafeConsole, discard_output, is_reader_gone
from lakehouse.cli.context import Context
from lakehouse.cli.exit_codes import COULD_NOT_RUN, READER_GONE
from lakehouse.cli.refusals import refusal_of
from lakehouse.errors import LakehouseError

_WRITERS = {"rich.console", "typer._click.utils", "click.utils", __name__}
"""Modules that print; here what was printed is flushed."""


class OneLinePerError(TyperGroup):
    """The group of verbs."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command line."""
        try:
            return super().main(*args, **kwargs)
        except SystemExit as end:
            # Click and Rich would end with 1, which means that a promise is broken.
            if not isinstance(end.__context__, BrokenPipeError):
                raise
            sys.exit(READER_GONE)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - Python would end with 1
            _give_up(error)
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
            if _is_of_output(error) or (refusal := refusal_of(error, ctx.find_object(Context))) is None:
                raise
            _tell(refusal)
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


class OutputRefused(LakehouseError):
    """What a command prints cannot be written."""


def _is_of_output(error: BaseException) -> bool:
    """Whether the system does not take what is printed, as on a disk that is full: it names no file."""
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals.get("__name__") in _WRITERS


def _give_up(error: BaseException) -> None:
    """Say why, if the messages can be written."""
    try:
        if _is_of_output(error):
            discard_output()
            reason = getattr(error, "strerror", None) or type(error).__name__
            _tell(OutputRefused(f"The output cannot be written: {reason}.", remedy="send it elsewhere"))
        else:
            traceback.print_exception(error)
    except OSError:  # nobody is there to be told
        discard_output(sys.stderr)


def _tell(error: LakehouseError) -> None:
    line = Text.assemble(("error: ", "bold red"), error.message)
    if error.remedy:
        line.append(f" Remedy: {error.remedy}", "bold")
    SafeConsole(stderr=True).print(line, soft_wrap=True)
