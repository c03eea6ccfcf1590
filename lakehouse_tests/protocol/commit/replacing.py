"""A table of three days, rewrites of it, and what happens to it before they are rebased."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.manifest import ManifestEntry

from lakehouse.iceberg.entries import partition_of
from lakehouse.protocol.commit import Replacement, Staged, publish, stage_replacement
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import head_of
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.rewrites import append, create, entries


def upkeep() -> Attempt:
    return Attempt(run_id="upkeep", step="maintain:a", runtime_date="2026-01-01", code_version="9")


def filled(lake: Lake, **properties: str) -> str:
    """Two days, three files each."""
    name = create(lake, **properties)
    for n in range(3):
        append(lake, name, {n: 1, 10 + n: 2}, position=str(n))
    return name


def stage(lake: Lake, name: str, replacement: Replacement) -> Staged:
    return stage_replacement(lake.catalog, lake.bases(name)[name], upkeep(), replacement, NOTES)


def files_of(lake: Lake, name: str, day: int) -> list[Any]:
    return [e.data_file for e in entries(lake.load(name)).values() if partition_of(e.data_file)[1] == (day,)]


def before_each_rebase(monkeypatch: pytest.MonkeyPatch, do: Callable[[], None]) -> None:
    module = sys.modules[publish.__module__]
    real = module.rebase

    def first(*args: Any) -> Any:
        rebased = real(*args)
        do()
        return rebased

    monkeypatch.setattr(module, "rebase", first)


def numbers(entry: ManifestEntry) -> tuple[int | None, int | None, int | None]:
    return entry.snapshot_id, entry.sequence_number, entry.file_sequence_number


def regrouped(lake: Lake, name: str) -> Replacement:
    table = lake.load(name)
    return Replacement.of_manifests(head_of(table) or 0, target_size=8 * 1024**2)


NOTES = {"operation": "rewrite", "proof": "abc"}
