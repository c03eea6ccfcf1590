"""Loads all declaration files: what is wrong is left out with all that needs it, and everything else is joined."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from lakehouse.declarations.changelog import Changelog
from lakehouse.declarations.derived import Derived
from lakehouse.declarations.mirror import Mirror
from lakehouse.declarations.registry.broken import BrokenDeclaration, Contradiction, Culprits, FileBroken
from lakehouse.declarations.registry.dagster_names import clashes, defines_something, not_kept, tables_of_assets
from lakehouse.declarations.registry.declarations import Declarations
from lakehouse.declarations.registry.demo_filter import without_demo
from lakehouse.declarations.registry.file_text import FileText, text_of
from lakehouse.declarations.registry.files import Item, declared_in, declares_nothing, python_files
from lakehouse.declarations.registry.joining import Collected
from lakehouse.declarations.registry.other_catalogs import check_catalogs
from lakehouse.declarations.release import Release
from lakehouse.declarations.stream import Stream
from lakehouse.declarations.table import Table

_Declared = tuple[Item, Path]


def load_declarations(
    folders: Iterable[Path], *, demo: bool = True, catalogs: Collection[str] | None = None
) -> Declarations:
    """Run every declaration file below the folders and put together what they declare.

    Args:
        folders: where the files are.
        demo: whether the demo takes part, see `without_demo`.
        catalogs: names of the other catalogs, whose tables may be read; any, where that is not known.

    Raises:
        DeclarationError: names the file, and what to do.
    """
    declarations = load_sound(folders, demo=demo, catalogs=catalogs)
    if declarations.broken:
        raise declarations.broken[0].error
    return declarations


def load_sound(folders: Iterable[Path], *, demo: bool = True, catalogs: Collection[str] | None = None) -> Declarations:
    """The same, without what does not load and without what needs it: both are named in the result.

    Args:
        folders: where the files are.
        demo: whether the demo takes part.
        catalogs: names of the other catalogs; any, where that is not known.

    Raises:
        DeclarationError: a folder is missing.
    """
    loading = _Loading(python_files(folders), demo=demo, catalogs=catalogs)
    while True:
        try:
            return loading.joined()
        except Contradiction as contradiction:
            loading.leave_out(contradiction)


class _Loading:
    """What is loaded so far, and what was left out of it."""

    def __init__(self, files: Iterable[Path], *, demo: bool, catalogs: Collection[str] | None) -> None:
        self._catalogs = catalogs
        items: list[_Declared] = []
        errors: list[FileBroken] = []
        self._dagster_files: list[Path] = []
        """Files that declare nothing of ours, and define something for Dagster."""
        for file in files:
            try:
                declared_here = declared_in(file)
            except FileBroken as error:
                errors.append(error)
                continue
            items += ((item, file) for item in declared_here)
            if not declared_here and defines_something(file):
                self._dagster_files.append(file)
            elif not declared_here:
                errors.append(declares_nothing(file))
        declared = {name for item, _ in items for name in _tables_of(item)}
        self._items = items if demo else without_demo(items)
        self._broken: list[BrokenDeclaration] = []
        self._stopped: dict[str, str] = {}
        for error in errors:
            text = text_of(error.file)
            names = tuple(sorted(text.named - declared))
            self._broken.append(BrokenDeclaration(error.file, error.line, error.message, error.remedy, names))
            self._stopped |= dict.fromkeys(names, error.message)
            self._stop_written_with(text, error)
        self._leave_out_clashes()
        self._leave_out_what_is_not_kept()

    def joined(self) -> Declarations:
        """All that is left.

        Raises:
            Contradiction: some of it cannot work together.
        """
        collected = Collected()
        for item, file in self._items:
            collected.add(item, file)
        declarations = collected.joined(self._stopped)
        self._refuse_assets_of_others(declarations)
        declarations = replace(declarations, broken=tuple(self._broken), dagster_files=tuple(self._dagster_files))
        if self._catalogs is not None:
            check_catalogs(declarations, self._catalogs)
        return declarations

    def leave_out(self, contradiction: Contradiction) -> None:
        """Stop the declarations at fault.

        Raises:
            Contradiction: nothing that was declared is at fault.
        """
        faulty = [declared for declared in self._items if _is_at_fault(declared[0], contradiction.culprits)]
        if not faulty:
            raise contradiction
        unknown = next((broken for broken in self._broken if broken.line is not None and not broken.tables), None)
        if contradiction.missing and contradiction.missing not in self._stopped and unknown is not None:
            reason = f"it needs {contradiction.missing}, which may be in a file that does not load: {unknown.message}"
        elif contradiction.missing in self._stopped:
            reason = f"it needs {contradiction.missing}, which is stopped: {self._stopped[contradiction.missing]}"
        else:
            file, message = faulty[-1][1], contradiction.message
            reason = message if str(file) in message else f"{file}: {message}"
            names = _tables_of_all(item for item, _ in faulty)
            self._broken.append(BrokenDeclaration(file, None, reason, contradiction.remedy, names))
            if contradiction.missing and contradiction.culprits.streams:
                # It goes to a name that nobody declares: which table was meant is not known.
                faulty += [(table, file) for table in self._unfilled()]
        self._stop([item for item, _ in faulty], reason)

    def _stop(self, faulty: Sequence[Item], reason: str) -> None:
        """Leave out declarations, and those that are written together with them."""
        gone = {id(item) for item in faulty}
        streams = {item.stream_name for item in faulty if isinstance(item, Changelog)}
        filled = {name for item in faulty if isinstance(item, Stream) for name in item.tables}
        for item, _ in self._items:
            # Without one of its changelogs a stream would send that one's changes to quarantine.
            shares = isinstance(item, Changelog) and item.stream_name in streams
            if id(item) in gone or shares or (isinstance(item, Table) and item.name in filled):
                gone.add(id(item))
                for name in _tables_of(item):
                    self._stopped.setdefault(name, reason)
        self._items = [declared for declared in self._items if id(declared[0]) not in gone]

    def _leave_out_clashes(self) -> None:
        """Stop files that define the same thing for Dagster, which would take none of all the others."""
        for clash in clashes(self._files()):
            for file in clash.files:
                others = ", ".join(str(other) for other in clash.files if other != file) or "the same file"
                message = f"{file}: the {clash.name} is defined in {others} as well."
                self._leave_out_file(file, message, "keep one, or give it another name.")

    def _leave_out_what_is_not_kept(self) -> None:
        """Stop files with definitions that would be dropped: of these nobody could say why they do nothing."""
        for file in self._files():
            if names := not_kept(file):
                message = f"{file}: it defines {', '.join(names)}, which cannot become part of the whole as it is."
                remedy = "assign a `dagster.Definitions` that holds it, or move it to a module of your own."
                self._leave_out_file(file, message, remedy)

    def _leave_out_file(self, file: Path, message: str, remedy: str) -> None:
        items = self._items_of(file)
        self._broken.append(BrokenDeclaration(file, None, message, remedy, _tables_of_all(items)))
        self._stop(items, message)
        self._dagster_files = [other for other in self._dagster_files if other != file]

    def _files(self) -> list[Path]:
        """Of what is left; each once."""
        return list(dict.fromkeys([*(file for _, file in self._items), *self._dagster_files]))

    def _refuse_assets_of_others(self, declarations: Declarations) -> None:
        """Refuse files with an asset that makes what a stream, mirror, derivation or release makes."""
        for file in self._files():
            for table in tables_of_assets(file):
                if (writer := declarations.writer(table)) is not None:
                    items = self._items_of(file)
                    kind = type(writer).__name__.lower()
                    message = f"{file}: it defines an asset for {table}, which the {kind} {writer.name} writes."
                    remedy = "remove the asset, or give it a table of its own."
                    if not items:
                        self._leave_out_file(file, message, remedy)
                        break
                    raise Contradiction(
                        message,
                        remedy=remedy,
                        tables=[item.name for item in items if not isinstance(item, Stream | Release)],
                        streams=[item.name for item in items if isinstance(item, Stream)],
                        releases=[item.name for item in items if isinstance(item, Release)],
                    )

    def _items_of(self, file: Path) -> list[Item]:
        return [item for item, place in self._items if place == file]

    def _stop_written_with(self, text: FileText, error: FileBroken) -> None:
        """Stop what the streams and changelogs of a broken file may write, or share a topic with."""
        unfilled = [table for table in self._unfilled() if text.may_fill(table.name)]
        logs = (item for item, _ in self._items if isinstance(item, Changelog) and item.source)
        shared = [log for log in logs if text.may_share(log.stream_name, log.topic)]
        if unfilled or shared:
            self._stop([*unfilled, *shared], f"what writes it may be in a file that does not load: {error.message}")

    def _unfilled(self) -> list[Table]:
        """Tables of which nothing that is left says what writes them: without its stream a table has no coordinates."""
        written = {name for item, _ in self._items if isinstance(item, Stream) for name in item.tables}
        written |= {item.name for item, _ in self._items if isinstance(item, Derived)}
        tables = [(item, file) for item, file in self._items if isinstance(item, Table) and item.name not in written]
        return [table for table, file in tables if not tables_of_assets(file)]


def _tables_of(item: Item) -> tuple[str, ...]:
    """The names of the tables that an item declares or brings along; not those that it goes to or reads."""
    match item:
        case Mirror():
            return (*item.tables, item.quarantine_table)
        case Stream():
            return (item.quarantine_table,)
        case Release():
            return (item.pointer,)
        case Table() | Derived() | Changelog():
            return (item.name,)


def _tables_of_all(items: Iterable[Item]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for item in items for name in _tables_of(item)))


def _is_at_fault(item: Item, culprits: Culprits) -> bool:
    match item:
        case Stream():
            return item.name in culprits.streams
        case Changelog():
            return item.name in culprits.tables or item.stream_name in culprits.streams
        case Release():
            return item.name in culprits.releases
        case Table() | Derived() | Mirror():
            return not culprits.tables.isdisjoint(_tables_of(item))
