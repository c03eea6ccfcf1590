"""Derived tables whose seals say what a test wants them to say; all but the computing is the product's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table as IcebergTable

from lakehouse.declarations import Declarations, Derived, Table, apply, plan
from lakehouse.orchestration.resources.staging import stage_arrow
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.document import Document, ancestry, edit_document

DAY, OTHER_DAY = date(2024, 5, 14), date(2024, 6, 1)
A, B, C, TOP = "raw.a", "derived.b", "derived.c", "derived.top"


@dataclass
class Computed:
    """A small lake: sources that somebody writes, and tables computed from them."""

    folder: Path
    declarations: Declarations

    @property
    def catalog(self) -> LakeCatalog:
        """Opened afresh."""
        return open_catalog(sql_settings(self.folder))

    def load(self, name: str) -> IcebergTable:
        """A table afresh."""
        return self.catalog.load_table(tuple(name.split(".")))

    def head(self, name: str) -> int:
        """Where `main` is."""
        head = head_of(self.load(name))
        assert head is not None
        return head

    def source(self, name: str = A, rows: int = 2, *, inputs: Mapping[str, int] | None = None) -> int:
        """Somebody appends to a table that is not computed; returns the new snapshot."""
        return self._write(name, [{"n": n} for n in range(rows)], kind="ingest", inputs=inputs or {}, run="ingest")

    def compute(
        self,
        name: str,
        *,
        of: Mapping[str, int] | None = None,
        day: date = DAY,
        rows: Sequence[date | None] | None = None,
        run: str = "",
        digest: str = "p",
        **statement: Any,
    ) -> int:
        """A run computes a derived table, of the newest snapshots of its inputs if none are named.

        Args:
            rows: the runtime date of each row; two of the run's own if None.
            digest: of the run's parameters.
            statement: what its seal says otherwise than a sound one would, for example `scanned={}`.
        """
        declared = self.declarations.derived[name]
        inputs = dict(of) if of is not None else {given: self.head(given) for given in declared.inputs.values()}
        sealed_statement: dict[str, Any] = {
            "mode": declared.mode,
            "declared": dict(declared.inputs),
            "scanned": inputs,
            "dates": {given: self._date(given) for given in inputs},
            "partition": [],
            "parameters": {},
            "column_lineage": {},
            "differs": "",
            **statement,
        }
        texts = {
            f"derived.{key}": v if isinstance(v, str) else msgspec.json.encode(v).decode()
            for key, v in sealed_statement.items()
        }
        dates = [day, day] if rows is None else rows
        return self._write(
            name,
            [{"n": n, "runtime_date": each} for n, each in enumerate(dates)],
            kind="derive",
            inputs=inputs,
            statement=texts,
            run=run or f"run-{name}",
            day=day,
            digest=digest,
            replacing=declared.mode == "full" and declared.partitions is None,
        )

    def maintain(self, name: str) -> int:
        """A seal of maintenance on top, with the statement of the one before, in the name of another run."""
        base = read_bases(self.catalog, [name])[name]
        assert base.sealed is not None
        attempt = Attempt(run_id="housekeeping", step=f"maintain:{name}", runtime_date="2030-01-01")
        before = base.sealed.seal
        seal = Seal.of(attempt, "maintenance", statement=before.statement, previous=before)
        return publish(self.catalog, [seal_branch(self.catalog, base, attempt, seal)]).snapshots[name]

    def rewrite(self, name: str) -> int:
        """Put all rows into new files, as a compaction does."""
        table = self.load(name)
        table.overwrite(table.scan().to_arrow())
        self.edit(name, _as_rewrite)
        return self.head(name)

    def relax(self, name: str) -> None:
        """Let the runtime date be null."""
        with self.load(name).update_schema() as change:
            change.make_column_optional("runtime_date")

    def edit(self, name: str, change: Callable[[Document], None]) -> None:
        """Change a table's metadata document behind the catalog's back."""
        edit_document(self.folder / "catalog.db", name, change)

    def forget(self, name: str, *snapshots: int) -> None:
        """Let the entries of snapshots expire."""

        def drop(document: Document) -> None:
            document["snapshots"] = [s for s in document["snapshots"] if s["snapshot-id"] not in snapshots]
            document["snapshot-log"] = [s for s in document["snapshot-log"] if s["snapshot-id"] not in snapshots]

        self.edit(name, drop)

    def before(self, name: str, snapshot: int) -> list[int]:
        """The snapshots below one."""
        document: Document = msgspec.json.decode(self.load(name).metadata.model_dump_json())
        ids = [each["snapshot-id"] for each in ancestry(document)]
        return ids[ids.index(snapshot) + 1 :]

    def unreadable(self, name: str) -> None:
        """Make every data file of a table something that nobody can read."""
        for task in self.load(name).scan().plan_files():
            path = Path(task.file.file_path.removeprefix("file://"))
            path.write_bytes(b"")

    def _date(self, name: str) -> str:
        return DAY.isoformat() if name in self.declarations.derived else ""

    def _write(
        self,
        name: str,
        rows: Sequence[Mapping[str, Any]],
        *,
        kind: str,
        inputs: Mapping[str, int],
        run: str,
        statement: Mapping[str, str] | None = None,
        day: date | None = None,
        digest: str = "",
        replacing: bool = False,
    ) -> int:
        catalog = self.catalog
        base = read_bases(catalog, [name])[name]
        attempt = Attempt(
            run_id=run,
            step=f"{kind}:{name}",
            runtime_date=day.isoformat() if day else "",
            parameters_digest=digest,
        )
        if rows or replacing:
            schema = schema_to_pyarrow(base.table.schema(), include_field_ids=False)
            nullable = pa.schema([field.with_nullable(True) for field in schema])
            stage_arrow(catalog, pa.Table.from_pylist(list(rows), schema=nullable), base, attempt, replacing=replacing)
        previous = base.sealed.seal if base.sealed else None
        seal = Seal.of(attempt, kind, statement=statement or {}, previous=previous, inputs=inputs)
        return publish(catalog, [seal_branch(catalog, base, attempt, seal)]).snapshots[name]


def _as_rewrite(document: Document) -> None:
    ours = [s for s in ancestry(document) if "lakehouse.attempt" not in s["summary"]]
    for snapshot in ours:
        snapshot["summary"]["operation"] = "replace"


def derived(name: str, *inputs: str, mode: str = "full", partitioning: tuple[str, ...] = (), **more: Any) -> Derived:
    """Declare a derived table of two columns."""
    table = declare(
        {"n": T.LongType(), "runtime_date": pandera.Column(T.DateType(), nullable=False)},
        name=name,
        runtime_date_column="runtime_date",
        partitioning=partitioning,
        write_mode="append" if mode == "incremental" else "overwrite",
    )
    if mode == "incremental":
        more["follows"] = "x0"
    return Derived(
        table=table,
        inputs={f"x{place}": given for place, given in enumerate(inputs)},
        compute="SELECT 1",
        mode=mode,  # type: ignore[arg-type]
        **more,
    )


def source(name: str) -> Table:
    """Declare a table that somebody writes."""
    return declare({"n": T.LongType()}, name=name)


def lake_of(folder: Path, sources: Sequence[str], *computed: Derived) -> Computed:
    """Declare and create tables."""
    tables = [*map(source, sources), *(entry.table for entry in computed)]
    declarations = Declarations({t.name: t for t in tables}, {}, {}, derived={entry.name: entry for entry in computed})
    lake = Computed(folder, declarations)
    for table in tables:
        apply(plan(table, lake.catalog), lake.catalog)
    return lake


def diamond(folder: Path) -> Computed:
    """A source, two tables of it, and one of those two."""
    return lake_of(folder, [A], derived(B, A), derived(C, A), derived(TOP, B, C))
