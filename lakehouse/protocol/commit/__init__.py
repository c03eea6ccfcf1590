"""Stage, seal, audit, publish: how the tables of a step change together or not at all.

The rooms in the order of the story: `attempt` (who writes), `together` and `base` (where it begins), `stage` (data on
a branch, sealed), `replacement` and `replace` (files out, files in), `as_written` (a rewrite as Spark wrote it),
`judge` (what became of the table meanwhile), `rebase`, `publish`, `lease` (who reads a table in ranges), `group`
(reading several tables), `append` (what many append to), `housekeeping`.
"""

from lakehouse.protocol.commit.append import Missing, append_absent, stage_rows
from lakehouse.protocol.commit.publish import Published, publish
from lakehouse.protocol.commit.replace import stage_replacement
from lakehouse.protocol.commit.replace_as_written import stage_as_written
from lakehouse.protocol.commit.replacement import Replacement
from lakehouse.protocol.commit.stage import Staged, branch_table, open_branch, seal_branch, stage_files

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
