"""Stage, seal, audit, publish: how the tables of a step change together or not at all.

The rooms in the order of the story: `attempt` (who writes), `together` and `base` (where it begins), `stage` (data on
a branch, sealed), `replacement` and `replace` (files out, files in), `as_written` (a rewrite as Spark wrote it),
`judge` (what became of the table meanwhile), `rebase`, `publish`, `lease` (who reads a table in ranges), `group`
(reading several tables), `append` (what many append to), `housekeeping`.
"""

from lakehouse.commit.append import Missing, append_absent, stage_rows
from lakehouse.commit.as_written import stage_as_written
from lakehouse.commit.attempt import Attempt
from lakehouse.commit.base import Base, read_bases
from lakehouse.commit.errors import (
    ClockSkew,
    CommitError,
    ContentChanged,
    FilesTouched,
    ForeignCommit,
    MainMoved,
    PublishUnresolved,
    RolledBack,
    SchemaChanged,
    SealBroken,
    Superseded,
    TableBusy,
    TableReplaced,
)
from lakehouse.commit.failpoints import failpoint
from lakehouse.commit.group import Pinned, read_group
from lakehouse.commit.history import Sealed, last_seal, seals
from lakehouse.commit.housekeeping import abandoned_branches, drop_branch
from lakehouse.commit.lease import Lease, leases, release_lease, take_lease
from lakehouse.commit.publish import Published, publish
from lakehouse.commit.replace import stage_replacement
from lakehouse.commit.replacement import Replacement
from lakehouse.commit.seal import Seal
from lakehouse.commit.sharing import FilesShared, require_sole
from lakehouse.commit.stage import Staged, branch_table, open_branch, seal_branch, stage_files

__all__ = [
    "Attempt",
    "Base",
    "ClockSkew",
    "CommitError",
    "ContentChanged",
    "FilesShared",
    "FilesTouched",
    "ForeignCommit",
    "Lease",
    "MainMoved",
    "Missing",
    "Pinned",
    "PublishUnresolved",
    "Published",
    "Replacement",
    "RolledBack",
    "SchemaChanged",
    "Seal",
    "SealBroken",
    "Sealed",
    "Staged",
    "Superseded",
    "TableBusy",
    "TableReplaced",
    "abandoned_branches",
    "append_absent",
    "branch_table",
    "drop_branch",
    "failpoint",
    "last_seal",
    "leases",
    "open_branch",
    "publish",
    "read_bases",
    "read_group",
    "release_lease",
    "require_sole",
    "seal_branch",
    "seals",
    "stage_as_written",
    "stage_files",
    "stage_replacement",
    "stage_rows",
    "take_lease",
]
