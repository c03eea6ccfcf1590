"""What a release consists of before there is a record of it: its id and its members' snapshots."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec
from pyiceberg.table import Table

from lakehouse import seal_keys
from lakehouse.proofs.lineage.computations import computations_of
from lakehouse.settings import Parameter, digest_of
from lakehouse.steps.release.candidates import Candidate, candidate_at
from lakehouse.steps.release.names import made_by, moment_of
from lakehouse.steps.release.statement import PointerStatement, ReleaseMember
from lakehouse.steps.release.tags.release_tags import tags_of


@dataclass(frozen=True)
class ReleaseContent:
    """A release that is fit to be made: its id, and each member's candidate with the snapshot to tag."""

    id: str
    candidates: Mapping[str, Candidate]
    snapshots: Mapping[str, int]

    @property
    def members(self) -> tuple[ReleaseMember, ...]:
        """What is recorded of the members."""
        return tuple(candidate.member(self.snapshots[name]) for name, candidate in self.candidates.items())

    @property
    def parameters(self) -> tuple[str, str]:
        """Digest and JSON of what the dated members were computed with; what they share agrees.

        Where their runs had other parameters, these are the ones that were used.
        """
        seals = [
            candidate.sealed.seal for candidate in self.candidates.values() if candidate.dated and candidate.sealed
        ]
        if not seals:
            return "", "{}"
        newest = [(computations_of(seal)[-1], seal.statement.get(seal_keys.DERIVED_PARAMETERS, "{}")) for seal in seals]
        if len({computation.parameters for computation, _ in newest}) == 1:
            return newest[0][0].parameters, newest[0][1]
        used: dict[str, Parameter] = {}
        for computation, text in newest:
            values = msgspec.json.decode(text, type=dict[str, Parameter])
            used |= {name: values[name] for name in computation.used or {} if name in values}
        return digest_of(used), msgspec.json.encode(used, order="deterministic").decode()


def begun_before(
    tables: Mapping[str, Table], dated: Collection[str], group: str, root_run_id: str, now: PointerStatement | None
) -> ReleaseContent | None:
    """What an earlier try of a root run has judged and tagged, and not got further with.

    Not if the pointer was moved since, by a release or a rollback: then it would go back, or undo what a person wanted.
    Nor if a member was rolled back since: then it is not in `main` any more.

    Args:
        tables: the members.
        dated: names of those that carry a runtime date.
        group: what is released.
        root_run_id: the run, or the one that it is a re-execution of.
        now: what the pointer says.
    """
    tagged = {name: tags_of(table, group) for name, table in tables.items()}
    for release_id in next(iter(tagged.values())):
        passed = now is not None and (release_id <= now.newest or moment_of(release_id) <= now.moved_ms)
        if passed or not made_by(release_id, root_run_id) or any(release_id not in tags for tags in tagged.values()):
            continue
        snapshot_ids = {name: tags[release_id] for name, tags in tagged.items()}
        by_name = {name: candidate_at(table, snapshot_ids[name], dated=name in dated) for name, table in tables.items()}
        if all(candidate.same for candidate in by_name.values()):
            return ReleaseContent(release_id, by_name, snapshot_ids)
    return None
