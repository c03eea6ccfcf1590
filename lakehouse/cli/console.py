"""Where a verb prints: what the lake says is shown as it is, and obeyed by no terminal.

A name of a table, a branch or a value of a row is whatever somebody wrote there. A control character in it would move
the cursor, colour what follows or set the window's title, so that a finding could be hidden. Each is shown escaped.
Rich's own markup and codes, `[red]` and `:b:`, are text too: what is to have a colour is a `Text`.
"""

import os
import re
import select
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.status import Status
from rich.style import StyleType
from rich.text import Text

# C0 but tab and end of line, DEL, C1, and what turns the direction of writing.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def escaped(text: str) -> str:
    """A text whose control characters are written out, ESC as a backslash and x1b."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


class SafeConsole(Console):
    """A console that sends no control character but its own, and knows neither markup nor the codes of emoji."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render, with the control characters of texts written out."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escaped(segment.text), segment.style)

    def status(
        self,
        status: RenderableType,
        *,
        spinner: str = "dots",
        spinner_style: StyleType = "status.spinner",
        speed: float = 1.0,
        refresh_per_second: float = 12.5,
    ) -> Status:
        """What is being done, as long as it takes."""
        return _Status(
            _as_it_is(status),
            console=self,
            spinner=spinner,
            spinner_style=spinner_style,
            speed=speed,
            refresh_per_second=refresh_per_second,
        )

    def on_broken_pipe(self) -> None:
        """Whoever read the output has gone: the command ends, as `OneLinePerError` says."""
        raise BrokenPipeError


class _Status(Status):
    """A status whose texts are no markup, whatever the console says of it."""

    def update(
        self,
        status: RenderableType | None = None,
        *,
        spinner: str | None = None,
        spinner_style: StyleType | None = None,
        speed: float | None = None,
    ) -> None:
        """Say what is being done now."""
        text = None if status is None else _as_it_is(status)
        super().update(text, spinner=spinner, spinner_style=spinner_style, speed=speed)


def _as_it_is(text: RenderableType) -> RenderableType:
    return Text(text) if isinstance(text, str) else text


def is_reader_gone() -> bool:
    """Whether nobody reads our output any more, as after `| head -1`."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # it is no file, or closed
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def discard_output(stream: TextIO | None = None) -> None:
    """Let Python throw away what is still to be written to a stream, else to stdout: it would complain at its end."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, (stream or sys.stdout).fileno())
    os.close(devnull)
