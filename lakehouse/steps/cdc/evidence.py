"""What a mirror's tables say of themselves: their seals, and whether they agree.

The chain is judged as the audit of streams does it: a commit from outside, an edited seal, a table that was rolled back
alone are named. What the rows are is for the fold to say.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec import MsgspecError

from lakehouse.declarations import MirrorTables
from lakehouse.proofs.audit import Finding
from lakehouse.proofs.audit.chain import unsealed_findings
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.history import Sealed, ancestry, has_rows, summary_of
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.statement import MirrorStatement


@dataclass(frozen=True)
class MirrorLink:
    """A seal with its mirror part."""

    sealed: Sealed
    statement: MirrorStatement

    @property
    def run_id(self) -> str:
        """The run that sealed."""
        return self.sealed.seal.run_id


@dataclass(frozen=True)
class Evidence:
    """A mirror, its siblings and its changelog as they were at one moment.

    Attributes:
        mirror: the mirror's table.
        tombstones: the ledger of deleted keys.
        quarantine: the refused changes.
        changelog: the table that it follows.
        links: the mirror's own seals that are still there, oldest first.
        newest: the newest seal that any of the three tables carries: what the mirror should be.
        findings: what is wrong with the seals.
    """

    mirror: Pinned
    tombstones: Pinned
    quarantine: Pinned
    changelog: Pinned
    links: tuple[MirrorLink, ...] = ()
    newest: MirrorLink | None = None
    findings: tuple[Finding, ...] = field(default=())


def read_evidence(catalog: LakeCatalog, tables: MirrorTables) -> Evidence:
    """Load the tables together and read their seals.

    Raises:
        NoSuchTableError: one of them does not exist.
    """
    return evidence_of(tables, read_group(catalog, [*(table.name for table in tables.tables), tables.changelog.name]))


def evidence_of(tables: MirrorTables, group: Mapping[str, Pinned]) -> Evidence:
    """Read the seals of tables that were loaded together."""
    names = mirror, tombstones, quarantine = [table.name for table in tables.tables]
    sealed = judge_seals({name: group[name] for name in names})
    return Evidence(
        mirror=group[mirror],
        tombstones=group[tombstones],
        quarantine=group[quarantine],
        changelog=group[tables.changelog.name],
        links=sealed.links[mirror],
        newest=sealed.newest,
        findings=sealed.findings,
    )


@dataclass(frozen=True)
class SealedMirror:
    """What the seals of a mirror's tables say, of those that were read.

    Attributes:
        links: table → its seals that are still there, oldest first.
        newest: the newest of all.
        findings: what is wrong with them.
    """

    links: Mapping[str, tuple[MirrorLink, ...]]
    newest: MirrorLink | None
    findings: tuple[Finding, ...]


def judge_seals(group: Mapping[str, Pinned]) -> SealedMirror:
    """Read the seals of a mirror's own tables, and compare them."""
    chains = {name: _read_chain(name, pinned) for name, pinned in group.items()}
    findings = [finding for _, chain_findings in chains.values() for finding in chain_findings]
    newest = {name: links[-1] for name, (links, _) in chains.items() if links}
    latest = max(newest.values(), key=_progress, default=None)
    for name, pinned in group.items():
        findings += list(_judge_sibling(name, pinned, newest.get(name), latest))
    return SealedMirror({name: tuple(links) for name, (links, _) in chains.items()}, latest, tuple(findings))


def _progress(link: MirrorLink) -> tuple[int, int]:
    """Grows from seal to seal: the newer commit has applied more, or has built anew."""
    return link.sealed.timestamp_ms, sum(link.statement.kafka_end.values())


def _read_chain(name: str, pinned: Pinned) -> tuple[list[MirrorLink], list[Finding]]:
    links: list[MirrorLink] = []
    findings = unsealed_findings(pinned.table, pinned.snapshot_id)
    newer: Seal | None = None
    for snapshot in ancestry(pinned.table, pinned.snapshot_id):
        where = f"{name} snapshot {snapshot.snapshot_id}"
        try:
            seal = Seal.from_summary(summary_of(snapshot), where=where)
            statement = MirrorStatement.from_keys(seal.statement) if seal else None
        except SealBroken as error:
            findings.append(Finding("seal_edited", str(error), name))
            newer = None
            continue
        except (KeyError, TypeError, ValueError, MsgspecError) as error:
            message = f"{where}: the seal cannot be read ({type(error).__name__}: {error})."
            findings.append(Finding("seal_edited", message, name))
            newer = None
            continue
        if seal is None:
            continue
        if newer is not None and newer.previous != seal.digest:
            message = (
                f"{name}: the seal of run {newer.run_id} does not follow on the one before it, of run {seal.run_id}."
            )
            findings.append(Finding("chain_broken", message, name))
        newer = seal
        if statement is not None:
            links.append(MirrorLink(Sealed(snapshot.snapshot_id, snapshot.timestamp_ms, seal), statement))
    return links[::-1], findings


def _judge_sibling(name: str, pinned: Pinned, link: MirrorLink | None, latest: MirrorLink | None) -> Iterator[Finding]:
    if link is None:
        if has_rows(pinned.table, pinned.snapshot_id):
            yield Finding("no_seal", f"{name} holds rows, but no seal says where they came from.", name)
        elif latest is not None:
            yield Finding("rolled_back", f"{name} has no seal, its siblings have one of run {latest.run_id}.", name)
        return
    if latest is None or link.statement == latest.statement:
        return
    if link.sealed.seal.attempt == latest.sealed.seal.attempt:
        message = f"{name}: its seal of run {link.run_id} says something else than its siblings' of the same run."
        yield Finding("seal_edited", message, name)
        return
    yield Finding(
        "rolled_back",
        f"{name} stands at run {link.run_id} (changelog snapshot {link.statement.end}), its siblings at run "
        f"{latest.run_id} (changelog snapshot {latest.statement.end}): {pinned.why_behind}.",
        name,
    )
