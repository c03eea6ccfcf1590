"""What a person can do about each kind of broken promise, by who writes the table.

A finding whose message has its remedy has no other. Which kinds there are is read from the source by a test, so that
none is without.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from lakehouse.cli.commands.prove.audit_scope import AuditFinding
from lakehouse.declarations import Declarations, Derived, Mirror, Release, Stream

KEEPS_IT = "keeps it."
"""Ends the message about a file that is of no state but one that a tag keeps."""
Owner = Literal["stream", "mirror", "derived", "release", "other"]

_ANEW: Mapping[Owner, str] = {
    "stream": "set the stream back to a run before it with `lakehouse rollback {stream} --to <run>`, then `lakehouse "
    "run` reads Kafka again",
    "mirror": "fold it anew with `lakehouse rebuild {mirror} --yes`",
    "derived": "compute it anew with `lakehouse derive {table} --rebuild --downstream`",
    "release": "drop {table}, and let `lakehouse run` release anew",
    "other": "set it back to a run before it with `lakehouse rollback {table} --to <run>`, and run its asset again",
}
_FILE: Mapping[Owner, str] = {
    owner: f"bring the file back from a backup (`lakehouse restore`); or {anew}" for owner, anew in _ANEW.items()
}
_KEPT_FILE = (
    "bring the file back from a backup (`lakehouse restore`): nothing makes an older state again. What readers of "
    "`main` get is whole; this is named until the tag goes, a release's after `keep` newer ones"
)
_BACK: Mapping[Owner, str] = {
    "stream": "`lakehouse rollback {stream} --yes` takes it back; `lakehouse adopt {stream} --from rows --yes` takes "
    "the rows over",
    "mirror": "`lakehouse rollback {mirror} --yes` takes it back; or " + _ANEW["mirror"],
    "derived": "`lakehouse rollback {table} --yes` takes it back; or " + _ANEW["derived"],
    "release": "`lakehouse rollback {table} --yes` takes it back",
    "other": "`lakehouse rollback {table} --yes` takes it back",
}
_ALONE: Mapping[Owner, str] = {
    **_BACK,
    "stream": "`lakehouse forward {stream} --yes` brings it to its siblings; `lakehouse rollback {stream} --yes` "
    "brings them to it",
    "mirror": "`lakehouse forward {mirror} --yes` brings it to its siblings; or " + _ANEW["mirror"],
}
_BASELINE: Mapping[Owner, str] = {
    **_ANEW,
    "stream": "`lakehouse rollback {stream} --to <run>` to a run before it; or `lakehouse adopt {stream} --from rows "
    "--yes` makes what is there the baseline",
}
_GONE: Mapping[Owner, str] = {
    **_ANEW,
    "stream": "restore it from a backup; or `lakehouse apply`, then `lakehouse adopt {stream} --from rows --yes`, "
    "which gives its rows up",
    "mirror": "`lakehouse apply`, then " + _ANEW["mirror"],
}
_SCHEMA: Mapping[Owner, str] = {
    **_ANEW,
    "stream": "`lakehouse plan` names the difference: rename the column back, or set the schema before as current",
    "other": "`lakehouse plan` names the difference: rename the column back, or set the schema before as current",
    "derived": "`lakehouse plan` names the difference; or " + _ANEW["derived"],
}
_RELEASE = (
    "`lakehouse release rollback {release} <id> --why … --yes` to one before it; `lakehouse release list` has them"
)


def _all(text: str) -> Mapping[Owner, str]:
    owners: tuple[Owner, ...] = ("stream", "mirror", "derived", "release", "other")
    return dict.fromkeys(owners, text)


_TOGETHER = _all("compute what disagrees in one run: `lakehouse derive {table} --upstream --downstream`")
_FUNCTION = _all("correct its inputs or its function, then `lakehouse derive {table} --downstream`")
_REMEDIES: Mapping[str, Mapping[Owner, str]] = {
    **dict.fromkeys(("missing_file", "unreadable_file", "changed_file", "misdescribed_file"), _FILE),
    **dict.fromkeys(
        ("unsealed_commit", "date_unsealed", "rewrite_changed_rows", "no_seal", "duplicate_file", "date_seal_edited"),
        _BACK,
    ),
    "rolled_back": _ALONE,
    **dict.fromkeys(("seal_edited", "chain_broken", "balance", "gap", "overlap", "rows_differ"), _BASELINE),
    **dict.fromkeys(("table_gone", "no_coordinates"), _GONE),
    "columns_differ": _SCHEMA,
    **dict.fromkeys(
        (
            *("key_repeated", "contradiction", "too_late", "doubtful_keys", "changes_differ", "refused_differ"),
            *("counters_differ", "operations_differ", "tombstones_differ", "checkpoint_removed"),
        ),
        _all(_ANEW["mirror"]),
    ),
    **dict.fromkeys(("input_disagrees", "vintage", "date_other_date", "date_null_date"), _TOGETHER),
    **dict.fromkeys(
        (
            *("lineage_undeclared_read", "lineage_unused_input", "lineage_read_by_name", "lineage_other_snapshot"),
            *("lineage_not_sealed", "lineage_declared_since", "lineage_no_statement"),
        ),
        _FUNCTION,
    ),
    "lineage_other_table": _all("rename the tables back; or " + _ANEW["derived"]),
    "pointer": _all("`lakehouse rollback {table} --yes` takes back what nobody sealed; or restore it from a backup"),
    "member_replaced": _all("release what is there now: `lakehouse run`; readers of older releases cannot be helped"),
    **dict.fromkeys(("dates_differ", "vintages_differ"), _all(_RELEASE)),
    "no_main": _all("set `main` back by the call above"),
    "shared_files": _all("drop one of the two entries without purging it"),
    "current_tag": _all("materialize the asset of the release: it sets the tag again, whether anything is new or not"),
    "cut_off": _all("make it anew: a mirror by `lakehouse rebuild`, a table by `lakehouse derive --rebuild`"),
    **dict.fromkeys(
        ("tag_missing", "tag_moved", "tag_replaced", "tag_expires"),
        _all("set the tag again on the snapshot that was released; `lakehouse release show` has it"),
    ),
}


def remedies_of(declared: Declarations, name: str, findings: Sequence[AuditFinding]) -> list[str]:
    """What to do about each finding of one proof.

    Rows that differ where files of the table are lost go by the remedy of those: nothing else brings them back.

    Args:
        declared: who writes the tables.
        name: of what was proven, where a finding names no table.
        findings: of one proof.
    """
    tables = [getattr(finding, "table", "") or name for finding in findings]
    kinds = {(finding.kind, table) for finding, table in zip(findings, tables, strict=True)}
    lost = {table: kind for kind, table in kinds if _REMEDIES.get(kind) is _FILE}
    return [
        remedy_for(
            declared,
            lost.get(table, finding.kind) if finding.kind == "rows_differ" else finding.kind,
            table,
            finding.message,
        )
        for finding, table in zip(findings, tables, strict=True)
    ]


def remedy_for(declared: Declarations, kind: str, table: str, message: str = "") -> str:
    """What to do about a broken promise; empty where its message says so.

    Args:
        declared: who writes the table.
        kind: of the finding.
        table: that it is about, or the name of what was proven: a stream or a release.
        message: of the finding.

    Raises:
        KeyError: nobody has thought of that kind yet.
    """
    if "emedy:" in message:
        return ""
    writer = declared.streams.get(table) or declared.releases.get(table) or declared.writer(table)
    if message.endswith(KEEPS_IT) and _REMEDIES[kind] is _FILE:
        return _KEPT_FILE
    names = {"table": table, "stream": table, "mirror": table, "release": table}
    match writer:
        case Stream():
            owner, names["stream"] = "stream", writer.name
        case Mirror():
            owner, names["mirror"] = "mirror", writer.name
        case Derived():
            owner = "derived"
        case Release():
            owner, names["release"], names["table"] = "release", writer.name, writer.pointer
        case _:
            owner = "other"
    return _REMEDIES[kind][owner].format(**names)
