"""All that is declared, together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lakehouse.declarations.changelog import Changelog
from lakehouse.declarations.derived import Derived
from lakehouse.declarations.mirror import Mirror, MirrorTables
from lakehouse.declarations.own_tables.audit_log import AUDIT_LOG
from lakehouse.declarations.own_tables.maintenance_log import MAINTENANCE_LOG, ORPHANS
from lakehouse.declarations.own_tables.statistics import STATISTICS
from lakehouse.declarations.registry.broken import BrokenDeclaration
from lakehouse.declarations.release import Release
from lakehouse.declarations.stream import Stream
from lakehouse.declarations.table import Table

Writer = Stream | Mirror | Derived | Release
# Which the lakehouse writes about all others.
OWN_TABLES = frozenset(table.name for table in (AUDIT_LOG, STATISTICS, MAINTENANCE_LOG, ORPHANS))


@dataclass(frozen=True)
class Declarations:
    """What is declared.

    Attributes:
        tables: by name; those that a stream writes have their coordinates, and each stream's quarantine is among them,
            as are all tables of changelogs and mirrors, and the pointer of each release.
        streams: by name; those that read changelogs' topics are among them.
        files: where each table and stream was declared; a quarantine belongs to its stream's file.
        changelogs: by the name of their table.
        mirrors: by the name of their table.
        derived: by the name of their table.
        releases: by name.
        broken: files and declarations that do not load; empty in declarations that were loaded strictly.
        stopped: table → why it is left out: it is declared by what is broken, or needs a table that is.
        dagster_files: files that declare nothing of these, and define something for Dagster.
    """

    tables: dict[str, Table]
    streams: dict[str, Stream]
    files: dict[str, Path]
    changelogs: dict[str, Changelog] = field(default_factory=dict[str, Changelog])
    mirrors: dict[str, MirrorTables] = field(default_factory=dict[str, MirrorTables])
    derived: dict[str, Derived] = field(default_factory=dict[str, Derived])
    releases: dict[str, Release] = field(default_factory=dict[str, Release])
    broken: tuple[BrokenDeclaration, ...] = ()
    stopped: Mapping[str, str] = field(default_factory=dict[str, str])
    dagster_files: tuple[Path, ...] = ()

    def writer(self, table: str) -> Writer | None:
        """Return what writes a table: the stream or mirror, as data or as quarantine, the derivation, the release."""
        if table in self.derived:
            return self.derived[table]
        for release in self.releases.values():
            if table == release.pointer:
                return release
        for writer in (*self.streams.values(), *(mirror_tables.mirror for mirror_tables in self.mirrors.values())):
            if table in writer.tables or table == writer.quarantine_table:
                return writer
        return None
