"""Stage, seal, audit, publish: how the tables of a step change together or not at all.

The rooms in the order of the story: `stage` (data on a branch, sealed), `staged` (what waits to be published),
`replacement` and `replace` (files out, files in), `replace_as_written` (a rewrite as Spark wrote it), `conflict_check`
(what became of the table meanwhile), `rebase`, `publish`, `trim`, `append` (what many append to).
"""

from lakehouse.protocol.commit.append import Missing, append_absent, stage_rows
from lakehouse.protocol.commit.publish import Published, publish
from lakehouse.protocol.commit.replace import stage_replacement
from lakehouse.protocol.commit.replace_as_written import stage_as_written
from lakehouse.protocol.commit.replacement import Replacement
from lakehouse.protocol.commit.stage import branch_table, open_branch, seal_branch, stage_files
from lakehouse.protocol.commit.staged import Staged

__all__ = [
    "Missing",
    "Published",
    "Replacement",
    "Staged",
    "append_absent",
    "branch_table",
    "open_branch",
    "publish",
    "seal_branch",
    "stage_as_written",
    "stage_files",
    "stage_replacement",
    "stage_rows",
]
