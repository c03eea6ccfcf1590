"""A table of a few rows, and what lies at its location."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlparse

import pytest
from pyiceberg.table import Table

from lakehouse.declarations import ORPHANS, Declarations, Maintenance, Orphans, apply, plan
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, Operation
from lakehouse.steps.maintenance.orphans import removal
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.maintenance import house

LOOK = Action(operation=Operation.ORPHANS)
DELETES = Maintenance(orphans=Orphans(older_than=timedelta(days=2), delete=True))
ROW = "00000-0-7a1e.parquet"


@dataclass
class Folder:
    """A table of five rows, and what lies at its location."""

    lake: Lake
    name: str

    @property
    def table(self) -> Table:
        return self.lake.load(self.name)

    @property
    def path(self) -> Path:
        return Path(urlparse(self.table.location()).path)

    def files(self) -> set[str]:
        return {str(path.relative_to(self.path)) for path in self.path.rglob("*") if path.is_file()}

    def put(self, name: str = f"data/{ROW}", *, days_ago: float = 3, content: str = "rows") -> str:
        """A file that no commit names."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        self.age(name, days_ago=days_ago)
        return name

    def age(self, *names: str, days_ago: float) -> None:
        """Make files older; all of them if none is named."""
        modified = datetime.now(UTC).timestamp() - days_ago * 86400
        for name in names or self.files():
            os.utime(self.path / name, (modified, modified))

    def look(
        self,
        policy: Maintenance = DELETES,
        *,
        days: float = 0,
        allow: bool = True,
        longest: timedelta = timedelta(0),
    ) -> ActionOutcome:
        """A look, so many days from now."""
        declared = Declarations({self.name: ORPHANS}, {}, {})
        work = house.work_on(self.lake.catalog, declared, self.name, policy, allow=allow, longest_run=longest)
        return removal.run(work, LOOK, now=datetime.now(UTC) + timedelta(days=days))

    def events(self) -> list[tuple[str, str]]:
        """What is on record, oldest first: event and file."""
        rows = self.lake.catalog.load_table(ORPHANS.identifier).scan().to_arrow().to_pylist()
        place = self.path.as_uri()
        return [(row["event"], row["path"].removeprefix(f"{place}/")) for row in sorted(rows, key=lambda r: r["at"])]


@pytest.fixture
def folder(sql_lake: Lake) -> Folder:
    apply(plan(ORPHANS, sql_lake.catalog), sql_lake.catalog)
    name = sql_lake.create("a")
    for number, rows in enumerate(([0, 1, 2], [3, 4])):
        sql_lake.write(f"s{number}", a=rows)
    made = Folder(sql_lake, name)
    made.age(days_ago=30)  # so old that age alone protects nothing
    return made
