"""Tables that a stream has made because records named them: which there are, by its seals, and how one is made.

The newest seal of the quarantine names them; so every command that knows the catalog knows them, and no other place has
to be kept in step.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec
from pyiceberg.exceptions import ForbiddenError, NoSuchTableError, UnauthorizedError

from lakehouse import seal_keys
from lakehouse.declarations import Declarations, Stream, ToNamed, apply, plan
from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.errors import MetadataFileDamaged, SealBroken
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.history import head_of, seals

_REFUSED = (LakehouseError, ForbiddenError, UnauthorizedError)


@dataclass(frozen=True)
class MadeTables:
    """What came of the tables that records have named.

    Attributes:
        made: those that are there now.
        refused: table → why it is not.
    """

    made: tuple[str, ...]
    refused: Mapping[str, str]


def made_tables(catalog: LakeCatalog, stream: Stream) -> tuple[str, ...]:
    """The tables that a stream has made, by the newest seal that names them."""
    try:
        table = read_bases(catalog, [stream.quarantine_table])[stream.quarantine_table].table
        named = (s.seal.statement.get(seal_keys.ROUTE_TABLES) for s in seals(table, head_of(table)))
        text = next((text for text in named if text is not None), "[]")
    except (NoSuchTableError, MetadataFileDamaged, SealBroken):  # who reads or writes it says so by name
        return ()
    return msgspec.json.decode(text, type=tuple[str, ...])


def sealed_tables(stream: Stream) -> dict[str, str]:
    """What each seal of a stream says of them."""
    if not isinstance(stream.route, ToNamed):
        return {}
    return {seal_keys.ROUTE_TABLES: msgspec.json.encode(sorted(stream.route.made)).decode()}


def with_made_tables(declarations: Declarations, catalog: LakeCatalog) -> Declarations:
    """What is declared, and beside it the tables that streams have made."""
    for stream in declarations.streams.values():
        if isinstance(stream.route, ToNamed):
            declarations = with_tables_of(declarations, stream, made_tables(catalog, stream))
    return declarations


def with_tables_of(declarations: Declarations, stream: Stream, names: Iterable[str]) -> Declarations:
    """The same for one stream, whose tables are these."""
    route = stream.route
    assert isinstance(route, ToNamed)
    before = declarations.streams[stream.name].route if stream.name in declarations.streams else route
    ours = {route.like, *route.made, *(before.made if isinstance(before, ToNamed) else ())}
    own = [name for name in names if name in ours or name not in declarations.tables]
    like, file = declarations.tables[route.like], declarations.files.get(route.like)
    tables = {name: replace(like, name=name) for name in own if name != route.like}
    return replace(
        declarations,
        tables={**declarations.tables, **tables},
        streams={**declarations.streams, stream.name: replace(stream, route=replace(route, made=tuple(own)))},
        files={**declarations.files, **({} if file is None else dict.fromkeys(tables, file))},
    )


def make_tables_for(
    catalog: LakeCatalog, stream: Stream, declarations: Declarations, unmade: Mapping[str, int]
) -> MadeTables:
    """Make the tables that records name, those of the most records first, as far as there is room.

    Several may do so at once: each ends with the same table.

    Args:
        catalog: where they are made.
        stream: whose records name them.
        declarations: with the table that they are like.
        unmade: table → records, as the workers have found them.
    """
    route = stream.route
    assert isinstance(route, ToNamed)
    made, refused = list[str](), dict[str, str]()
    for name in sorted(unmade, key=lambda name: (-unmade[name], name)):
        if len(made) >= route.room:
            refused[name] = f"there are {route.most_tables} already"
        elif any(name.casefold() == other.casefold() for other in made):
            refused[name] = "another one is called so, but for the case"
        elif reason := _made(catalog, stream, declarations, name):
            refused[name] = reason
        else:
            made.append(name)
    return MadeTables(tuple(made), refused)


def _made(catalog: LakeCatalog, stream: Stream, declarations: Declarations, name: str) -> str:
    """Make a table; why that cannot be, or nothing."""
    assert isinstance(stream.route, ToNamed)
    try:
        planned = plan(replace(declarations.tables[stream.route.like], name=name), catalog)
        if planned.base is not None and not _is_ours(Base.of(planned.base), stream):
            return "one of this name is there, and not of this stream"
        apply(planned, catalog)
    except _REFUSED as refusal:
        return str(refusal)
    return ""


def _is_ours(base: Base, stream: Stream) -> bool:
    if base.sealed is not None:
        return base.sealed.seal.step.partition(":")[2] == stream.name
    return not base.has_rows
