"""The second leg of the proof: all tables of a stream say the same, and one that was out of it says what it missed."""

from collections.abc import Iterator, Mapping, Sequence

from lakehouse.proofs.audit.absence import Absence, Missed, absences, joined, missed_ranges, progress
from lakehouse.proofs.audit.chain import Link
from lakehouse.proofs.audit.findings import Finding
from lakehouse.protocol.seals.history import has_rows
from lakehouse.protocol.seals.read_group import Pinned


def judge_siblings(chains: Mapping[str, Sequence[Link]], group: Mapping[str, Pinned]) -> Iterator[Finding]:
    """What a table's newest seal says otherwise than its siblings' does; a table → its chain, and its snapshot."""
    newest = {name: links[-1] for name, links in chains.items() if links}
    for name, pinned in group.items():
        if name not in newest and has_rows(pinned.table, pinned.snapshot_id):
            yield Finding("no_seal", f"{name} holds rows, but no seal says where they came from.", name)
    if len(newest) < 2:
        return
    latest = max(newest.values(), key=_progress)
    returning = _returning(chains)
    for name, link in ((name, link) for name, link in newest.items() if name not in returning):
        mine, theirs = link.statement, latest.statement
        if (mine.cluster_id, mine.topic_id) != (theirs.cluster_id, theirs.topic_id):
            yield Finding(
                "rolled_back",
                f"{name} stands at run {link.sealed.seal.run_id} in topic {mine.topic_id} of cluster "
                f"{mine.cluster_id}, its siblings at run {latest.sealed.seal.run_id} in topic {theirs.topic_id} of "
                f"cluster {theirs.cluster_id}: it was rolled back alone, or its seal was edited.",
                name,
            )
        if mine.end != theirs.end:
            for partition in sorted({*mine.end, *theirs.end}):
                has, needs = mine.end.get(partition, 0), theirs.end.get(partition, 0)
                if has != needs:
                    yield Finding(
                        "rolled_back",
                        f"{name} stands at run {link.sealed.seal.run_id}, its siblings at run "
                        f"{latest.sealed.seal.run_id}: {group[name].why_behind}.",
                        name,
                        partition,
                        f"[{has}, {needs})",
                    )
        elif (mine.cluster_id, mine.topic_id) == (theirs.cluster_id, theirs.topic_id) and mine != theirs:
            alone = mine.reprocessed != theirs.reprocessed
            yield Finding(
                "rolled_back" if alone else "seal_edited",
                f"{name}: its seal of run {link.sealed.seal.run_id} says something else than its siblings' of run "
                f"{latest.sealed.seal.run_id}.",
                name,
            )


def group_absences(chains: Mapping[str, Sequence[Link]]) -> Iterator[Absence]:
    """What tables say that they missed before a seal of theirs, or have missed by now."""
    for name, missed in _returning(chains).items():
        yield from absences(name, missed)
    for name, links in chains.items():
        for link in links:
            if link.kind != "maintenance":
                yield from absences(name, joined(link.sealed.seal.statement) or {})


def _returning(chains: Mapping[str, Sequence[Link]]) -> dict[str, Missed]:
    """Table → what it has missed by now, of those that were out of the stream and have lost nothing.

    The next run takes them up. Tables of one step say the same, so what differs there was edited.
    """
    sealed = {name: links for name, links in chains.items() if links}
    if not sealed:
        return {}
    latest = max(sealed.values(), key=lambda links: _progress(links[-1]))
    last = latest[-1].statement
    missed = {
        name: missed_ranges(name, links[-1].statement, last)
        for name, links in sealed.items()
        if links[-1].statement != last and _attempt(links) != _attempt(latest)
    }
    return {name: ranges for name, ranges in missed.items() if ranges is not None}


def _attempt(links: Sequence[Link]) -> str:
    """Of the newest step; maintenance only repeats what that one said."""
    steps = [link for link in links if link.kind != "maintenance"] or links
    return steps[-1].sealed.seal.attempt


def _progress(link: Link) -> tuple[int, int, int]:
    """Grows from seal to seal of a stream."""
    return *progress(link.statement), link.sealed.timestamp_ms
