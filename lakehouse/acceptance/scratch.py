"""What an acceptance run works on: a namespace and two topics of its own, removed at the end."""

import secrets
import shutil
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from string import Template

from pyiceberg.exceptions import NamespaceNotEmptyError, NoSuchNamespaceError, NoSuchTableError
from pyiceberg.typedef import Identifier
from pyspark.sql import SparkSession

from lakehouse.declarations import OWN_TABLES, Declarations, apply, load_declarations, plan
from lakehouse.declarations.columns.names import table_identifier
from lakehouse.engines.kafka import create_topic, delete_topics
from lakehouse.engines.spark import spark_session
from lakehouse.iceberg.durable_files import local_path
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.settings import Settings
from lakehouse.settings.shipped import shipped

PARTITIONS = 2
_RUNTIME_DATE = "2026-01-01"
PREFIX = "lakehouse_verify_"
NUMBERS = ("race_a", "race_b")
"""Tables of one column `number`, for what needs no stream."""


@dataclass(frozen=True)
class Scratch:
    """The place of one acceptance run.

    Args:
        settings: with catalog, platform and Kafka that are tried.
        namespace: of all tables but two, which have its name in `quarantine` and `release`.
        records: how many are sent to each topic.
        inform: told of progress.
        environ: variables by which another process has the same settings.
    """

    settings: Settings
    namespace: str
    records: int
    inform: Callable[[str], None]
    environ: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def orders_topic(self) -> str:
        """The topic of orders."""
        return f"{self.namespace}.orders"

    @property
    def changes_topic(self) -> str:
        """The topic of change data."""
        return f"{self.namespace}.changes"

    @cached_property
    def catalog(self) -> LakeCatalog:
        """The catalog that is tried, opened once."""
        return open_catalog(self.settings.catalog)

    @cached_property
    def declarations(self) -> Declarations:
        """What is declared here."""
        template = shipped("acceptance", "declarations.py.template").read_text(encoding="utf-8")
        names = {"namespace": self.namespace, "orders": self.orders_topic, "changes": self.changes_topic}
        with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
            Path(folder, "acceptance.py").write_text(Template(template).substitute(names), encoding="utf-8")
            return load_declarations([Path(folder)], demo=False)

    @property
    def tables(self) -> Sequence[str]:
        """Every table that is made, with the mirror's quarantine and the release's pointer, which lie elsewhere."""
        return [name for name in self.declarations.tables if name not in OWN_TABLES]

    def name(self, short: str) -> str:
        """`namespace.table`."""
        return f"{self.namespace}.{short}"

    def attempt(self, step: str) -> Attempt:
        """An attempt at a step, in the name of a run of its own."""
        return Attempt(
            run_id=f"verify-{secrets.token_hex(4)}", step=step, runtime_date="2026-01-01", parameters_digest="{}"
        )

    def session(self) -> AbstractContextManager[SparkSession]:
        """Spark on the platform that is tried."""
        return spark_session(self.settings, app_name=self.namespace)


@contextmanager
def scratch(
    settings: Settings, records: int, inform: Callable[[str], None], environ: Mapping[str, str]
) -> Generator[Scratch]:
    """Make namespace, tables and topics; remove them at the end, however it ends.

    Args:
        settings: with what is tried.
        records: how many are sent to each topic.
        inform: told of progress.
        environ: variables by which another process has the same settings.
    """
    place = Scratch(settings, f"{PREFIX}{secrets.token_hex(4)}", records, inform, environ)
    with ExitStack() as made:
        inform(f"making {place.namespace}")
        _make(place, made)
        yield place
        inform(f"removing {place.namespace}")


def _make(place: Scratch, made: ExitStack) -> None:
    """Make everything; what takes it away again is left with `made`, before: a signal may come in between."""
    catalog, kafka = place.catalog, place.settings.kafka
    ours: set[Identifier] = set()
    for namespace in dict.fromkeys(table_identifier(name)[:-1] for name in place.tables):
        if not catalog.namespace_exists(namespace):
            made.callback(_drop_namespace, catalog, namespace)
            catalog.create_namespace_if_not_exists(namespace)
            ours.add(namespace)
    for topic in (place.orders_topic, place.changes_topic):
        made.callback(delete_topics, kafka, [topic])
        create_topic(kafka, topic, PARTITIONS)
    for name in place.tables:
        made.callback(_drop, catalog, name, with_namespace=table_identifier(name)[:-1] in ours)
        apply(plan(place.declarations.tables[name], catalog), catalog)


def _drop_namespace(catalog: LakeCatalog, namespace: Identifier) -> None:
    with suppress(NamespaceNotEmptyError, NoSuchNamespaceError):
        catalog.drop_namespace(namespace)


def _drop(catalog: LakeCatalog, name: str, *, with_namespace: bool) -> None:
    try:
        location = catalog.load_table(name).location()
    except NoSuchTableError:
        return
    catalog.remove_table(name)
    if (folder := local_path(location)) is not None:  # which no file system drops by itself, nor Hadoop's checksums
        shutil.rmtree(folder, ignore_errors=True)
        if with_namespace and folder.parent.name == table_identifier(name)[-2]:
            with suppress(OSError):  # it is not empty before the last table has gone
                folder.parent.rmdir()
