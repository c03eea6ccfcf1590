"""Polaris' maintenance policies, which it keeps and never carries out, beside what a table declares.

Each has a content by the schemas of `2025-02-03`. What it says that a declaration has a word for is compared; what it
has none for is named, so that nobody takes it for done.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import msgspec

from lakehouse.declarations import Table
from lakehouse.declarations.policies.maintenance import Maintenance
from lakehouse.polaris.management import CATALOG, PolarisApi, PolarisRefused, PolarisRequest
from lakehouse.quantities import quantity

_STRATEGIES = {"bin-pack": "binpack", "binpack": "binpack", "sort": "sort", "z-order": "zorder", "zorder": "zorder"}
_SEPARATOR = "\x1f"


@dataclass(frozen=True)
class PolicySetting:
    """One thing that a policy says of a table, and what the table declares.

    Attributes:
        policy: its name, and where it is inherited from.
        key: what it says, as the policy calls it.
        says: the value.
        setting: of the declaration, such as `Expire.max_snapshot_age`; empty if it has none.
        declared: the value there.
    """

    policy: str
    key: str
    says: str
    setting: str
    declared: str

    @property
    def agrees(self) -> bool:
        """Whether the declaration does the same; what it has no word for it does not do."""
        return bool(self.setting) and self.says == self.declared


class ApplicablePolicy(msgspec.Struct, rename="kebab"):
    """A policy that applies to a table, as Polaris says it."""

    policy_type: str
    name: str
    content: str = ""
    inherited: bool = False
    namespace: list[str] = []


class _Page(msgspec.Struct, rename="kebab"):
    applicable_policies: list[ApplicablePolicy]
    next_page_token: str | None = None


class _Content(msgspec.Struct):
    enable: bool
    config: dict[str, Any] = {}
    max_orphan_file_age_in_days: float | None = None
    locations: list[str] = []


_Declared = Callable[[Maintenance], tuple[str, object]]


def applicable_policies(api: PolarisApi, catalog: str, table: str) -> list[ApplicablePolicy]:
    """What applies to a table, of its own and inherited; none where the table is not there.

    Raises:
        PolarisRefused: it cannot be read, or its pages have no end.
    """
    *namespace, name = table.split(".")
    query = {"namespace": _SEPARATOR.join(namespace), "target-name": name}
    path = (*CATALOG, "polaris", "v1", catalog, "applicable-policies")
    if not api.has(PolarisRequest("GET", path, query=query)):
        return []
    applicable: list[ApplicablePolicy] = []
    tokens: set[str] = set()
    token: str | None = None
    while True:
        page = api.ask(PolarisRequest("GET", path, query={**query, **({"pageToken": token} if token else {})}), _Page)
        applicable += page.applicable_policies
        token = page.next_page_token
        if not token:
            return applicable
        if token in tokens:
            raise PolarisRefused(
                f"The list of the policies that apply to {table} has no end: Polaris names one page twice.",
                remedy="see the log of Polaris, and what stands between it and here",
            )
        tokens.add(token)


def compare_policies(table: Table, policies: list[ApplicablePolicy]) -> Iterator[PolicySetting]:
    """Every thing that the policies say, beside what the table declares."""
    for policy in policies:
        origin = ".".join(policy.namespace)
        name = f"{policy.name}{f' of {origin}' if policy.inherited and origin else ''}"
        if (part := _PARTS.get(policy.policy_type)) is None:
            yield PolicySetting(name, policy.policy_type, "", "", "")
            continue
        try:
            content = msgspec.json.decode(policy.content, type=_Content)
        except (msgspec.MsgspecError, RecursionError):
            yield PolicySetting(name, policy.policy_type, "a content that is none of Polaris", "", "")
            continue
        maintenance = table.maintenance
        has = getattr(maintenance, part) is not None and not maintenance.excluded
        yield PolicySetting(name, "enable", _shown(content.enable), f"Maintenance.{part}", _shown(has))
        if content.enable and has:
            yield from _settings(name, maintenance, policy.policy_type, content)


def _settings(name: str, maintenance: Maintenance, kind: str, content: _Content) -> Iterator[PolicySetting]:
    values: dict[str, Any] = dict(content.config)
    if content.max_orphan_file_age_in_days is not None:
        values["max_orphan_file_age_in_days"] = content.max_orphan_file_age_in_days
    if content.locations:
        values["locations"] = ", ".join(content.locations)
    for key, value in values.items():
        known = _SETTINGS.get((kind, key.replace("-", "_")))
        if known is None:
            yield PolicySetting(name, key, _shown(value), "", "")
            continue
        setting, declared = known(maintenance)
        yield PolicySetting(name, key, _shown(_meant(key, value)), setting, _shown(declared))


def _meant(key: str, value: object) -> object:
    """A value in the words of a declaration."""
    if key.endswith("days") and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return timedelta(days=value)
        except OverflowError:
            return f"{value:g} days"
    return _STRATEGIES.get(value, value) if isinstance(value, str) else value


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, timedelta) and value % timedelta(days=1) == timedelta():
        return quantity(value.days, "day")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _target(maintenance: Maintenance) -> tuple[str, object]:
    return "Rewrite.target_file_size", maintenance.rewrite and maintenance.rewrite.target_file_size


def _strategy(maintenance: Maintenance) -> tuple[str, object]:
    return "Rewrite.strategy", maintenance.rewrite and maintenance.rewrite.strategy


def _snapshots(maintenance: Maintenance) -> tuple[str, object]:
    return "Expire.min_snapshots_to_keep", maintenance.expire and maintenance.expire.min_snapshots_to_keep


def _snapshot_age(maintenance: Maintenance) -> tuple[str, object]:
    return "Expire.max_snapshot_age", maintenance.expire and maintenance.expire.max_snapshot_age


def _orphan_age(maintenance: Maintenance) -> tuple[str, object]:
    return "Orphans.older_than", maintenance.orphans and maintenance.orphans.older_than


_COMPACTION, _METADATA = "system.data-compaction", "system.metadata-compaction"
_EXPIRY, _ORPHANS = "system.snapshot-expiry", "system.orphan-file-removal"
_PARTS: Mapping[str, str] = MappingProxyType(
    {_COMPACTION: "rewrite", _METADATA: "manifests", _EXPIRY: "expire", _ORPHANS: "orphans"}
)
_SETTINGS: Mapping[tuple[str, str], _Declared] = MappingProxyType(
    {
        (_COMPACTION, "target_file_size_bytes"): _target,
        (_COMPACTION, "compaction_strategy"): _strategy,
        (_EXPIRY, "min_snapshot_to_keep"): _snapshots,
        (_EXPIRY, "max_snapshot_age_days"): _snapshot_age,
        (_ORPHANS, "max_orphan_file_age_in_days"): _orphan_age,
    }
)
