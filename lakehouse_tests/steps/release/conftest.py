"""A group of three tiny tables, `c` computed from `a` and `b`, that are written and released without Spark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from pyiceberg.table import Table

from lakehouse.declarations import Release, apply, plan
from lakehouse.protocol.catalog import LakeCatalog, TableChange
from lakehouse.protocol.commit import publish, seal_branch, stage_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.maintenance.verify.foreign_rewrites import find_changed_rows
from lakehouse.steps.release.gate import Check, Result
from lakehouse.steps.release.names import CURRENT_SUFFIX, TAG_PREFIX
from lakehouse.steps.release.reading import OpenRelease, open_release
from lakehouse.steps.release.step import Released, ReleaseStep, release
from lakehouse_tests.fixtures.lakes import Lake

DATE = "2013-05-14"
NAMES = ("a", "b", "c")


@dataclass
class Group:
    """A declared release and its members."""

    lake: Lake
    declared: Release
    vintage: int = 0
    messages: list[str] = field(default_factory=list[str])

    @property
    def catalog(self) -> LakeCatalog:
        """Where all of it lives."""
        return self.lake.catalog

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the members."""
        return self.declared.members

    def name(self, short: str) -> str:
        """`namespace.table` of a member."""
        return f"{self.lake.namespace}.{short}"

    def load(self, short: str) -> Table:
        """A member afresh."""
        return self.lake.load(self.name(short))

    def head(self, short: str) -> int:
        """Where `main` of a member is."""
        head = head_of(self.load(short))
        assert head is not None
        return head

    def write(
        self,
        short: str,
        number: int,
        *,
        date: str = DATE,
        parameters: str = "p",
        kind: str = "derive",
        keys: Mapping[str, str] | None = None,
        **inputs: int,
    ) -> int:
        """Append the row `number` to a member, as a step of its own that has read `inputs`; returns the seal."""
        attributes = {"date": date, "parameters": parameters, "kind": kind}
        return self.write_all({short: number}, **attributes, keys=keys, inputs=inputs)[short]

    def write_all(
        self,
        numbers: dict[str, int],
        *,
        date: str = DATE,
        parameters: str = "p",
        kind: str = "derive",
        keys: Mapping[str, str] | None = None,
        inputs: dict[str, int] | None = None,
    ) -> dict[str, int]:
        """Append a row to each of some members, published together."""
        step = f"derive:{','.join(numbers)}"
        attempt = Attempt(f"run-{max(numbers.values())}", step, runtime_date=date, parameters_digest=parameters)
        bases, staged = self.lake.bases(*map(self.name, numbers)), []
        read = {self.name(short): snapshot for short, snapshot in (inputs or {}).items()}
        for short, number in numbers.items():
            base = bases[self.name(short)]
            stage_files(self.catalog, base, attempt, self.lake.files(base.name, [number]))
            statement = keys or {"derived.parameters": f'{{"p":"{parameters}"}}'}
            previous = base.sealed.seal if base.sealed else None
            seal = Seal.of(attempt, kind, statement=statement, previous=previous, inputs=read)
            staged.append(seal_branch(self.catalog, base, attempt, seal))
        published = publish(self.catalog, staged).snapshots
        return {short: published[self.name(short)] for short in numbers}

    def make(self, *, date: str = DATE, parameters: str = "p") -> int:
        """All members anew: the row of the next vintage in each, `c` from the others; returns the vintage."""
        self.vintage += 1
        attributes = {"date": date, "parameters": parameters}
        read = self.write_all({"a": self.vintage, "b": self.vintage}, **attributes)
        self.write_all({"c": self.vintage}, inputs=read, **attributes)
        return self.vintage

    def checks(self, *names: str, **more: Result) -> list[Check]:
        """For each member a check `good` that has passed where `main` is; `a=Result(…)` gives another result."""
        return [
            Check(self.name(s), "good", (more.get(s) or Result("passed", self.head(s), f"run-{self.vintage}"),))
            for s in names or NAMES
        ]

    def step(self, run_id: str = "", checks: Sequence[Check] | None = None, **more: Any) -> ReleaseStep:
        """A release step in the name of a run."""
        root = more.pop("root_run_id", "")
        run_id = run_id or f"release-{self.vintage}"
        attempt = Attempt(run_id, f"release:{self.declared.name}", root_run_id=root or run_id, code_version="v1")
        return ReleaseStep(
            release=more.pop("declared", self.declared),
            catalog=more.pop("catalog", self.catalog),
            attempt=attempt,
            find_changed_rows=partial(find_changed_rows, 1024**3),
            checks=self.checks() if checks is None else checks,
            dated=more.pop("dated", frozenset(self.members)),
            inform=more.pop("inform", self.messages.append),
            **more,
        )

    def release(self, run_id: str = "", checks: Sequence[Check] | None = None, **more: Any) -> Released:
        """Release what `main` holds."""
        return release(self.step(run_id, checks, **more))

    def open(self, release_id: str | None = None) -> OpenRelease:
        """Open a release."""
        return open_release(self.catalog, self.declared.name, release_id)

    def vintages(self, opened: OpenRelease | None = None) -> list[int]:
        """The newest row of each member of a release."""
        released = opened or self.open()
        return [max(released.arrow(name)["n"].to_pylist()) for name in released.tables]

    def tags(self, short: str = "a") -> list[str]:
        """Release tags of a member."""
        refs = self.load(short).metadata.refs
        return sorted(name for name in refs if name.startswith(TAG_PREFIX) and not name.endswith(CURRENT_SUFFIX))

    def change(self, short: str, *updates: Any) -> None:
        """What somebody does to a member's references by hand."""
        self.catalog.commit_tables([TableChange((self.lake.namespace, short), (), updates)])

    def publish_seal(self, base: Base, attempt: Attempt, seal: Seal) -> int:
        """A commit without rows."""
        return publish(self.catalog, [seal_branch(self.catalog, base, attempt, seal)]).snapshots[base.name]

    def load_pointer(self) -> int | None:
        """Where the pointer is."""
        return head_of(self.catalog.load_table(self.declared.table.identifier))


MakeGroup = Callable[..., Group]


def make_group(lake: Lake, *, create: bool = True, **declaration: Any) -> Group:
    """Declare a group, and create its pointer and, unless they are there, its members."""
    members = tuple(f"{lake.namespace}.{name}" for name in NAMES)
    fields = {"name": f"g_{lake.namespace}", "members": members, "description": "Things.", "owner": "tests"}
    group = Group(lake, Release(**{**fields, **declaration}))
    for name in NAMES if create else ():
        lake.create(name)
    apply(plan(group.declared.table, lake.catalog), lake.catalog)
    return group


@pytest.fixture
def group(lake: Lake) -> Group:
    """On both catalogs."""
    return make_group(lake)


@pytest.fixture
def sql_group(sql_lake: Lake) -> MakeGroup:
    """`sql_group(keep=…)`, on the embedded catalog alone."""
    return lambda **declaration: make_group(sql_lake, **declaration)
