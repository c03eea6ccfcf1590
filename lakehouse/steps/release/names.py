"""Names of releases: sortable by time, unique, valid in the name of a reference, and telling which run made them.

`analytics-20261121173005123-1f9c2e3a`: the group, the moment in UTC to the millisecond, and a mark of the root run. The
group is part of the name because a table may be a member of several groups, and each looks after its own tags.

One tag has no moment in it: `release-analytics-current` names what is current, for engines that cannot look it up.
"""

import hashlib
import re
import time
from datetime import UTC, datetime, timedelta

TAG_PREFIX = "release-"
CURRENT_SUFFIX = "-current"
_ID = re.compile(r"(?P<group>[A-Za-z][A-Za-z0-9_]*)-(?P<moment>\d{17})-(?P<run>[0-9a-f]{8})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def new_id(group: str, root_run_id: str, *, after: str = "") -> str:
    """Name a release that begins now; it sorts behind `after`, whatever the clock says."""
    moment_ms = max(time.time_ns() // 1_000_000, moment_of(after) + 1 if after else 0)
    moment = _EPOCH + moment_ms * _MILLISECOND
    return f"{group}-{moment:%Y%m%d%H%M%S}{moment_ms % 1000:03d}-{mark_of(root_run_id)}"


def mark_of(root_run_id: str) -> str:
    """By which a retry of a run recognises what the run has begun."""
    return hashlib.sha256(root_run_id.encode()).hexdigest()[:8]


def moment_of(release_id: str) -> int:
    """When a release began, in milliseconds since the epoch; 0 where the name tells no date."""
    match = _ID.fullmatch(release_id)
    if match is None:
        return 0
    text = match["moment"]
    try:
        timestamp = datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:  # no date: somebody made a tag of such a name by hand
        return 0
    return (timestamp - _EPOCH) // _MILLISECOND + int(text[14:])


def group_of(release_id: str) -> str | None:
    """The group that a release is of; None for what is no id of a release."""
    match = _ID.fullmatch(release_id)
    return match["group"] if match is not None else None


def made_by(release_id: str, root_run_id: str) -> bool:
    """Whether a release was begun by this run, or by one that it is a re-execution of."""
    match = _ID.fullmatch(release_id)
    return match is not None and match["run"] == mark_of(root_run_id)


def tag_of(release_id: str) -> str:
    """The tag that every member of a release carries."""
    return TAG_PREFIX + release_id


def id_of(tag: str, group: str) -> str | None:
    """The release that a tag belongs to, if it is one of the group."""
    match = _ID.fullmatch(tag.removeprefix(TAG_PREFIX)) if tag.startswith(TAG_PREFIX) else None
    return match.group() if match is not None and match["group"] == group else None


def current_tag(group: str) -> str:
    """The tag that follows the pointer of a group. No id looks like it: there is no moment in it."""
    return f"{TAG_PREFIX}{group}{CURRENT_SUFFIX}"


def is_tag_of(tag: str, group: str) -> bool:
    """Whether a group looks after a tag: that of a release of it, or the one that follows its pointer."""
    return tag == current_tag(group) or id_of(tag, group) is not None
