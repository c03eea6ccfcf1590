"""`python -m lakehouse_tests.mechanisms [NAME …]`: breaks each mechanism, and shows that its guard fails.

Exit code 0: every mechanism is guarded. 1: some are not, and are named. 2: a guard fails with nothing broken, or a name
is unknown.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from lakehouse_tests.mechanisms.mechanism import FOLDER, Mechanism, named
from lakehouse_tests.mechanisms.page import PAGE, page
from lakehouse_tests.mechanisms.runs import GuardRun, run_unbroken, run_without
from lakehouse_tests.mechanisms.table import MECHANISMS

GUARDED, SURVIVED, UNSOUND = 0, 1, 2
_WIDTH = 250  # of what is no terminal
_SHOWN = 80


def main(arguments: Sequence[str]) -> int:
    """The command."""
    about, _, codes = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(prog="python -m lakehouse_tests.mechanisms", description=about, epilog=codes)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which mechanisms; all if none is named")
    parser.add_argument("--jobs", type=int, default=2, help="processes at the same time")
    parser.add_argument("--write", action="store_true", help="only write docs/reference/mechanisms.md anew")
    options = parser.parse_args(arguments)
    if options.write:
        PAGE.write_text(page(MECHANISMS), encoding="utf-8")
        return GUARDED
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH)
    try:
        chosen = [named(MECHANISMS, name) for name in options.names] or list(MECHANISMS)
    except KeyError as unknown:
        print(unknown.args[0], file=sys.stderr)
        return UNSOUND
    return check(console, chosen, options.jobs)


def check(console: Console, chosen: Sequence[Mechanism], jobs: int) -> int:
    """Run all guards as they are, then each without its mechanism."""
    began = time.monotonic()
    with console.status(f"{len(chosen)} guards, nothing broken"):
        sound = run_unbroken(chosen)
    if not sound.passed:
        console.print(f"With nothing broken: {sound.ending}.", markup=False)
        console.print(sound.output, markup=False)
        return UNSOUND
    console.print(f"With nothing broken, every guard passes: {len(chosen)}, {sound.seconds:.0f} s.")
    runs = dict(_shown(console, _broken(chosen, jobs), len(chosen)))
    console.print(_result(chosen, runs))
    survivors = [mechanism for mechanism in chosen if not runs[mechanism.name].guarded]
    for mechanism in survivors:
        run = runs[mechanism.name]
        console.print(f"NOT GUARDED: {mechanism.name} ({mechanism.keeps}): {run.ending}.\n{run.output}", markup=False)
    guarded = len(chosen) - len(survivors)
    console.print(f"{guarded} of {len(chosen)} mechanisms are guarded, {time.monotonic() - began:.0f} s.")
    return SURVIVED if survivors else GUARDED


def _broken(chosen: Sequence[Mechanism], jobs: int) -> Iterator[tuple[Mechanism, GuardRun]]:
    executor = ThreadPoolExecutor(jobs)
    try:
        waiting = {executor.submit(run_without, mechanism): mechanism for mechanism in chosen}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    finally:
        executor.shutdown(cancel_futures=True)


def _shown(console: Console, runs: Iterator[tuple[Mechanism, GuardRun]], total: int) -> Iterator[tuple[str, GuardRun]]:
    """A bar in a terminal, lines elsewhere."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("", total=total)
        for mechanism, run in runs:
            progress.update(task, advance=1, description=escape(mechanism.name))
            if not console.is_terminal:
                word = "fails" if run.guarded else "DOES NOT FAIL"
                console.print(f"without {mechanism.name}: the guard {word}, {run.seconds:.0f} s", markup=False)
            yield mechanism.name, run


def _result(chosen: Sequence[Mechanism], runs: dict[str, GuardRun]) -> Table:
    folded = (Column(title, overflow="fold") for title in ("broken function", "failing test"))
    table = Table("mechanism", "", *folded, "because", "s")
    for mechanism in chosen:
        run = runs[mechanism.name]
        failure = next((failure for failure in run.failures if failure.proves), None) if run.guarded else None
        table.add_row(
            mechanism.name,
            mechanism.number,
            mechanism.keeps.removeprefix("lakehouse."),
            escape(failure.test.removeprefix(FOLDER) if failure else "NONE"),
            escape(_short(failure.reason if failure else run.ending)),
            f"{run.seconds:.0f}",
        )
    return table


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
