"""The code blocks of tutorial and how-to pages: which there are, and how each is run in a lakehouse of a test."""

import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from unittest import SkipTest

from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, SkipParser

from lakehouse.cli.reports.reader_settings import READERS
from lakehouse.settings import Settings

ROOT = Path(__file__).parents[1]
TUTORIAL = tuple(ROOT / "docs" / "tutorial" / f"first-{name}.md" for name in ("topic", "mirror", "release"))
HOW_TO = tuple(sorted((ROOT / "docs" / "how-to").rglob("*.md")))
RUN = ("python", "shell")  # languages of blocks that are run

Command = Callable[..., object]


@dataclass
class Guide:
    """Where the blocks of a page are run.

    Attributes:
        folder: a person's folder, with `conf/` in it.
        command: calls `lakehouse …`.
        names: what a page lets its reader fill in.
    """

    folder: Path
    command: Command
    names: Mapping[str, object] = field(default_factory=dict[str, object])

    def blocks(self, page: Path) -> Iterator[tuple[int, str, Callable[[], None]]]:
        """Line, language, and what runs it, of each block that is not marked `skip`.

        A block is to be run before the next is asked for.
        """
        languages = [CodeBlockParser("python", self._python), CodeBlockParser("shell", self._shell)]
        document = Sybil([*languages, SkipParser()]).parse(page)
        for example in document.examples():
            yield example.line, example.region.lexemes.get("arguments", "skip"), lambda shown=example: _evaluate(shown)

    def _python(self, example: Example) -> None:
        text, first = str(example.parsed), str(example.parsed).splitlines()[0]
        if first.startswith("# conf/declarations/"):
            file = self.folder / first.removeprefix("# ")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        names = {"__name__": "shown", "__file__": str(self.folder / first.removeprefix("# ")), **self.names}
        exec(compile("\n" * example.line + text, example.path, "exec"), names)

    def _shell(self, example: Example) -> None:
        for ours, lines in groupby(example.parsed.splitlines(), lambda line: line.startswith("lakehouse ")):
            if not ours:
                subprocess.run(["bash", "-euc", "\n".join(lines)], cwd=self.folder, check=True)
                continue
            for line in lines:
                self.command(*shlex.split(line, comments=True)[1:])


def lake_conf(settings: Settings) -> dict[str, str]:
    """What `lakehouse catalog env spark` prints of the catalog."""
    words = [line.split(" ", 1) for line in READERS["spark"](settings) if line.startswith("spark.sql.catalog.")]
    return dict(words)


def _evaluate(example: Example) -> None:
    with suppress(SkipTest):  # the page says why, and a test of their own looks at `reasons`
        example.evaluate()


def reasons(page: Path) -> Mapping[int, str]:
    """Line → why the block below is not run."""
    marked = "<!-- skip: next "
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
    return {
        number: line.removeprefix(marked).removesuffix(" -->").strip('"') for number, line in lines if marked in line
    }


def block_run_by(page: Path, test: str) -> str:
    """The first block of a page that is run by this test, and not with the page."""
    text = page.read_text(encoding="utf-8")
    _, _, after = text.partition(f'<!-- skip: next "run-by {test}" -->')
    return after.split("```", 2)[1].split("\n", 1)[1]


def languages(page: Path) -> list[tuple[int, str]]:
    """Line and language of each fenced block; the language is empty where the page names none."""
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
    fences = [(number, line.strip().removeprefix("```")) for number, line in lines if line.strip().startswith("```")]
    return fences[::2]
