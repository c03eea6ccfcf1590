"""Carries out the proofs; one thing that cannot be read keeps no other from being judged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.exceptions import NoSuchTableError

from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind, missing_tables, with_writers
from lakehouse.cli.commands.prove.kinds.columns import COLUMNS
from lakehouse.cli.commands.prove.kinds.commits import COMMITS
from lakehouse.cli.commands.prove.kinds.derived import DERIVED
from lakehouse.cli.commands.prove.kinds.entries import ENTRIES
from lakehouse.cli.commands.prove.kinds.files import FILES
from lakehouse.cli.commands.prove.kinds.leases import LEASES
from lakehouse.cli.commands.prove.kinds.mirrors import MIRRORS
from lakehouse.cli.commands.prove.kinds.release import RELEASES
from lakehouse.cli.commands.prove.kinds.rewrites import REWRITES
from lakehouse.cli.commands.prove.kinds.streams import STREAMS
from lakehouse.cli.context import Context, catalog_of
from lakehouse.cli.declared import declarations_of, require_declared
from lakehouse.declarations import BrokenDeclaration, Declarations
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit import Finding
from lakehouse.protocol.catalog import catalog_refusal
from lakehouse.protocol.damage.damage import damaged_metadata
from lakehouse.protocol.errors import MetadataFileDamaged
from lakehouse.settings import CatalogSettings

_LOOKS = 3


CREATE = "`lakehouse apply` creates tables, and `lakehouse run` fills them"


KINDS: tuple[Kind[Any], ...] = (STREAMS, MIRRORS, DERIVED, RELEASES, COMMITS, COLUMNS, FILES, REWRITES, LEASES, ENTRIES)


@dataclass(frozen=True)
class Unproven:
    """A proof that could not be carried out, by the title of its kind and the name of what it is about."""

    kind: str
    name: str
    message: str
    remedy: str = ""


@dataclass(frozen=True)
class Proofs:
    """What was proven, and what could not be.

    Attributes:
        not_loaded: declarations whose tables nothing was proven of, where all were asked for.
        made: of each kind, those that were carried out, with the name of what each is about.
        unreadable: tables whose metadata file kept them from being looked at.
        errors: what the others ended with.
    """

    not_loaded: tuple[BrokenDeclaration, ...]
    made: list[tuple[Kind[Any], dict[str, Any]]] = field(default_factory=list[tuple[Kind[Any], dict[str, Any]]])
    unreadable: dict[str, Finding] = field(default_factory=dict[str, Finding])
    errors: list[Unproven] = field(default_factory=list[Unproven])


def carry_out(context: Context, names: Sequence[str], *, scan: bool, full: bool) -> Proofs:
    """Prove what is named, or everything.

    Raises:
        UnknownName: nothing of such a name is declared.
    """
    auditing = _opened(context, scan=scan, full=full)
    _refuse_unknown(auditing.declared, names)
    proofs = Proofs(() if names else auditing.declared.broken)
    given, names = names, with_writers(auditing.declared, names)
    for kind in KINDS:
        of_kind: dict[str, Any] = {}
        asked = kind.asked(auditing.declared, names)
        for name in kind.names(auditing.declared):
            if names and name not in asked:
                continue
            with context.err.status(f"auditing {name}"):
                try:
                    of_kind[name] = _prove(kind, auditing, name)
                except MetadataFileDamaged as error:
                    _note_unreadable(proofs, error)
                except Exception as error:  # noqa: BLE001 - whatever it is, it must not hide what others have found
                    proofs.errors.append(_unproven(kind.title, name, error, context.settings.catalog))
        proofs.made.append((kind, of_kind))
    unproven = {error.name for error in proofs.errors}
    for name in missing_tables(auditing, (name for name in given if name not in unproven)):
        proofs.errors.append(Unproven("tables", name, f"{name} does not exist.", CREATE))
    return proofs


def _prove(kind: Kind[Any], auditing: Auditing, name: str) -> Any:
    """The proof of one thing, looked at again, with tables loaded anew, where what is wrong may be so no more.

    Where files are gone, expiry may have taken what was being read. Where anything else is wrong, a table may have
    gone on since it was loaded for another kind of proof.
    """
    looks_left = _LOOKS
    while True:
        looks_left -= 1
        auditing.tables.begin_proof()
        try:
            proof = kind.prove(auditing, name)
        except Exception:
            if not looks_left or not auditing.tables.gone_on():
                raise
        else:
            if not looks_left or not _may_be_outdated(kind, auditing, proof):
                return proof
        auditing.tables.forget()


def _may_be_outdated(kind: Kind[Any], auditing: Auditing, proof: Any) -> bool:
    if any(finding.kind == "missing_file" for finding in proof.findings):
        return True
    return (not proof.holds or bool(kind.unsure(proof))) and auditing.tables.gone_on()


def _note_unreadable(proofs: Proofs, error: MetadataFileDamaged) -> None:
    """A finding of its own, told once: whichever thing was being proven, it is this table's rows that are lost."""
    damage = damaged_metadata(error)
    proofs.unreadable[damage.table] = Finding.of(damage)


def _opened(context: Context, *, scan: bool, full: bool) -> Auditing:
    in_process = int(context.settings.maintenance.in_process_proof)
    return Auditing(catalog_of(context), declarations_of(context), scan=scan, full=full, in_process=in_process)


def _unproven(kind: str, name: str, error: Exception, catalog: CatalogSettings) -> Unproven:
    if isinstance(error, NoSuchTableError):
        itself = str(error) == f"Table does not exist: {name}"
        return Unproven(kind, name, f"{name} does not exist." if itself else f"{name}: {error}.", CREATE)
    return Unproven(kind, name, _why(name, error, catalog))


def _why(name: str, error: Exception, catalog: CatalogSettings) -> str:
    if isinstance(error, LakehouseError):
        return f"{name}: {error}"
    if (refusal := catalog_refusal(error, catalog)) is not None:  # it is of all names, and told once
        return str(refusal)
    return f"{name} could not be audited: {type(error).__name__}: {error}."


def _refuse_unknown(declared: Declarations, names: Sequence[str]) -> None:
    known = {name for kind in KINDS for name in kind.names(declared)}
    require_declared(declared, "stream, mirror, derived table or release", names, known)
