"""The rules between declarations: names, one writer a table, and what streams, changelogs and mirrors bring along."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from lakehouse.declarations.changelog import Changelog
from lakehouse.declarations.derived import Derived
from lakehouse.declarations.mirror import Mirror, MirrorTables
from lakehouse.declarations.own_tables.audit_log import AUDIT_LOG, FILE
from lakehouse.declarations.own_tables.maintenance_log import MAINTENANCE_FILE, MAINTENANCE_LOG, ORPHANS
from lakehouse.declarations.own_tables.quarantine import quarantine_table
from lakehouse.declarations.own_tables.statistics import STATISTICS, STATISTICS_FILE
from lakehouse.declarations.policies.expectation_rules import Measured
from lakehouse.declarations.registry.broken import Contradiction
from lakehouse.declarations.registry.change_streams import change_streams
from lakehouse.declarations.registry.declarations import Declarations
from lakehouse.declarations.registry.derived_rules import check_derived, check_expectations, check_releases
from lakehouse.declarations.registry.files import Item
from lakehouse.declarations.registry.mistyped_names import declare_or_use
from lakehouse.declarations.registry.stream_rules import streamed
from lakehouse.declarations.release import Release
from lakehouse.declarations.stream import Stream
from lakehouse.declarations.table import Table
from lakehouse.iceberg.names import identifier_of

_Item = TypeVar("_Item", Table, Stream, Changelog, Mirror, Derived, Release)
# Namespaces in which nothing may write but the lakehouse itself: these tables, and the pointers of releases.
_RESERVED = frozenset({"lakehouse", "release"})


class Collected:
    """What files declare, by kind and name; `joined` checks the rules between them."""

    def __init__(self) -> None:
        self._tables: dict[str, tuple[Table, Path]] = {
            AUDIT_LOG.name: (AUDIT_LOG, FILE),
            MAINTENANCE_LOG.name: (MAINTENANCE_LOG, MAINTENANCE_FILE),
            ORPHANS.name: (ORPHANS, MAINTENANCE_FILE),
        }
        self._streams: dict[str, tuple[Stream, Path]] = {}
        self._changelogs: dict[str, tuple[Changelog, Path]] = {}
        self._mirrors: dict[str, tuple[Mirror, Path]] = {}
        self._derived: dict[str, tuple[Derived, Path]] = {}
        self._releases: dict[str, tuple[Release, Path]] = {}

    def add(self, item: Item, file: Path) -> None:
        """Take in what a file declares.

        Raises:
            Contradiction: its name is taken, or not its to use.
        """
        _refuse_reserved(item, file)
        match item:
            case Table():
                _enter("table", self._tables, item, file)
            case Stream():
                _enter("stream", self._streams, item, file)
            case Changelog():
                _enter("changelog", self._changelogs, item, file)
            case Mirror():
                _enter("mirror", self._mirrors, item, file)
            case Derived():
                _enter("derived table", self._derived, item, file)
            case Release():
                _enter("release", self._releases, item, file)

    def joined(self, stopped: Mapping[str, str] | None = None) -> Declarations:
        """Everything together, with the tables and streams that changelogs and mirrors bring with them.

        Args:
            stopped: table → why it is left out; an expectation may speak of it all the same.

        Raises:
            Contradiction: names the declarations that cannot work together.
        """
        for log, file in self._changelogs.values():
            _enter("table", self._tables, log.table, file)
        for stream, file in change_streams(self._changelogs):
            _enter("stream", self._streams, stream, file)
        mirrors: dict[str, MirrorTables] = {}
        for mirror, file in self._mirrors.values():
            mirrors[mirror.name] = mirror_tables = MirrorTables(mirror, self._changelog_of(mirror, file))
            for table in mirror_tables.tables:
                _enter("table", self._tables, table, file)
        if any(isinstance(expected, Measured) for table, _ in self._tables.values() for expected in table.expects):
            _enter("table", self._tables, STATISTICS, STATISTICS_FILE)
        for release, file in self._releases.values():
            _enter("table", self._tables, release.table, file)
        return _joined(
            Declarations(
                tables={name: table for name, (table, _) in self._tables.items()},
                streams={name: stream for name, (stream, _) in self._streams.items()},
                files={name: file for entries in (self._tables, self._streams) for name, (_, file) in entries.items()},
                changelogs={name: log for name, (log, _) in self._changelogs.items()},
                mirrors=mirrors,
                derived={name: derived for name, (derived, _) in self._derived.items()},
                releases={name: release for name, (release, _) in self._releases.items()},
                stopped=stopped or {},
            )
        )

    def _changelog_of(self, mirror: Mirror, file: Path) -> Changelog:
        if mirror.changelog_name not in self._changelogs:
            raise Contradiction(
                f"{file}: the mirror {mirror.name} follows {mirror.changelog_name}, which is no declared changelog.",
                remedy=declare_or_use(mirror.changelog_name, self._changelogs),
                tables=[mirror.name],
                missing=mirror.changelog_name,
            )
        log = self._changelogs[mirror.changelog_name][0]
        _require_key(mirror, log, file)
        return log


def _require_key(mirror: Mirror, log: Changelog, file: Path) -> None:
    if not log.key:
        raise Contradiction(
            f"{file}: the mirror {mirror.name} follows {log.name}, whose source table has no key (`key=()`): nobody "
            "could say which row a change is of.",
            remedy="give the source table a primary key and declare it, or read the changelog without a mirror.",
            tables=[mirror.name],
        )


def _refuse_reserved(item: Item, file: Path) -> None:
    """Nothing that is declared may write where the lakehouse keeps its own records; reading them is fine."""
    match item:
        case Table():
            names: tuple[str, ...] = (item.name,)
        case Changelog():
            names = (item.name, item.quarantine or "")
        case Stream() | Mirror():
            names = (*item.tables, item.quarantine_table)
        case Derived() | Release():  # the table of the one is an item by itself, the pointer of the other is ours
            names = ()
    for name in names:
        namespace = identifier_of(name)[0]
        if namespace.casefold() in _RESERVED:
            kind = type(item).__name__.lower()
            raise Contradiction(
                f"{file}: the {kind} {item.name} would write {name}, and the namespace {namespace} is the lakehouse's "
                "own.",
                remedy="choose another namespace.",
                streams=[item.name] if isinstance(item, Stream) else (),
                tables=() if isinstance(item, Stream) else [item.name],
            )


def _enter(kind: str, entries: dict[str, tuple[_Item, Path]], item: _Item, file: Path) -> None:
    # Two names that differ in case alone are one for Spark and for some file systems.
    twin = next((name for name in entries if name.casefold() == item.name.casefold()), None)
    if twin is not None:
        names = (twin, item.name)
        raise Contradiction(
            f"{file}: the {kind} {item.name} is declared in {entries[twin][1]} as well.",
            remedy="keep one.",
            tables=() if kind in ("stream", "release") else names,
            streams=names if kind == "stream" else (),
            releases=names if kind == "release" else (),
        )
    entries[item.name] = item, file


def _joined(declarations: Declarations) -> Declarations:
    declared = dict(declarations.tables)
    writers: dict[str, Stream] = {}
    for stream in declarations.streams.values():
        file = declarations.files[stream.name]
        for name in (*stream.tables, stream.quarantine_table):
            writer = writers.setdefault(name.casefold(), stream)
            if writer is not stream:
                raise Contradiction(
                    f"{file}: the streams {writer.name} and {stream.name} both write {name}.",
                    remedy="a table has one writer; give each stream a table of its own.",
                    streams=[writer.name, stream.name],
                )
        for name in stream.tables:
            declarations.tables[name] = streamed(stream, file, name, declarations)
        twin = next((name for name in declared if name.casefold() == stream.quarantine_table.casefold()), None)
        if twin is not None:
            raise Contradiction(
                f"{file}: {stream.quarantine_table}, the quarantine of stream {stream.name}, is declared as a table in "
                f"{declarations.files[twin]}.",
                remedy="remove that table, or name another quarantine.",
                tables=[twin],
                streams=[stream.name],
            )
        declarations.tables[stream.quarantine_table] = quarantine_table(
            stream, declarations.tables[stream.tables[0]].owner
        )
        declarations.files[stream.quarantine_table] = file
    for name, table in declared.items():
        if (table.duplicates or table.keep) and name.casefold() not in writers:
            raise Contradiction(
                f"{declarations.files[name]}: {name} declares what is dropped of its stream, and no stream writes it.",
                remedy="leave `duplicates` and `keep` out, or name the table in a stream.",
                tables=[name],
            )
    check_derived(declarations.derived, declarations)
    check_releases(declarations.releases, declarations)
    check_expectations(declarations)
    return declarations
