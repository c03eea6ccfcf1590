"""When derived tables and releases are computed by themselves: declarative conditions, made of Dagster's own.

Dagster asks for each asset on its own condition, and puts what it asks for in one look into one run. So all tables of a
group have the same condition, but for what may hold back one of them: a blocking check that failed upstream of it.

News is an edge: it is seen in one look and gone in the next. It is kept until the table was asked for after it, however
long a run, a check or a failure is in the way; and beyond, if the run that was asked for was cut short. An event that
Dagster never heard of is no news to it; the audit log's sensor tells it such events.
"""

import warnings
from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, TypeAlias

import dagster as dg
from dagster import AutomationCondition

from lakehouse.declarations import Declarations, Derived, Release
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.automation.interrupted_condition import FOLLOWING_TAG, Interrupted
from lakehouse.orchestration.automation.refresh_groups import Group, group_of, upstream_tables

if TYPE_CHECKING:  # its own name for a condition that can have a label
    from dagster._core.definitions.declarative_automation.automation_condition import BuiltinAutomationCondition

EVERY_SECONDS = 10
Condition: TypeAlias = "BuiltinAutomationCondition[Any]"


def following(derived: Derived, declarations: Declarations) -> Condition:
    """When a derived table is asked for: something that its group is computed from has news, and nothing is in the way.

    Of a table in partitions, that is all of them, in one run: its functions see their inputs whole, so nobody can tell
    which partitions some news leaves as they are.
    """
    group = group_of(derived, declarations)
    upstream = group.upstream(derived.name)
    return (
        _pending(group)
        & ~_any(group.tables, AutomationCondition.in_progress()).with_label("a run computes the group")
        & ~_any(group.tables, Interrupted(lately=True)).with_label("a run of the group was cut short a moment ago")
        & ~_any(group.inputs, _being_judged()).with_label("an input is being judged")
        & ~_any(upstream, _failed()).with_label("a blocking check of an input failed")
        & ~_any(upstream, AutomationCondition.missing()).with_label("an input was never written")
        & _others_done(upstream, declarations)
    )


def follow_release(release: Release, declarations: Declarations) -> Condition:
    """When a release is asked for: a member has news, or will be computed by the same run, and nothing is in the way.

    In a run that computes members, their blocking checks come before the release, and Dagster leaves it out where one
    of them fails.
    """
    members = release.members
    around = tuple(
        dict.fromkeys(name for member in members for name in (member, *upstream_tables(member, declarations)))
    )
    apart = [name for name in around if name in declarations.derived and declarations.derived[name].partitions]
    same_run = AutomationCondition.will_be_requested()
    news = _any(members, _updated() | _recovered() | same_run) | AutomationCondition.missing().newly_true()
    return (
        (_kept(news.with_label("a member has news, or there is no release yet")) | Interrupted())
        & ~AutomationCondition.in_progress()
        & ~Interrupted(lately=True)
        & ~_any(members, Interrupted() & ~same_run).with_label("a run of a member was cut short")
        & ~_any(members, AutomationCondition.in_progress()).with_label("a member is being computed")
        & ~_any(around, _being_judged()).with_label("a member, or what it is computed from, is being judged")
        & ~_any(around, _failed() & ~same_run).with_label("a blocking check of a member, or above one, failed")
        & ~_any(members, AutomationCondition.missing() & ~same_run).with_label("a member was never written")
        & _others_done(apart, declarations)
    )


def following_sensor(declarations: Declarations) -> dg.AutomationConditionSensorDefinition | None:
    """Make the sensor that evaluates the conditions of all derived tables and releases; None where there are none."""
    names = [*declarations.derived, *(release.pointer for release in declarations.releases.values())]
    if not names:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", dg.BetaWarning
        )  # Dagster evaluates conditions that are not its own in no other way
        return dg.AutomationConditionSensorDefinition(
            "derived_tables_and_releases",
            target=dg.AssetSelection.assets(*(dg.AssetKey(identifier_of(name)) for name in names)),
            description="Computes derived tables when something that they are computed from has news, and releases "
            "when their members have.",
            default_status=dg.DefaultSensorStatus.RUNNING,
            minimum_interval_seconds=EVERY_SECONDS,
            run_tags={FOLLOWING_TAG: "true"},
            use_user_code_server=True,
        )


def _any(tables: Iterable[str], condition: AutomationCondition[Any]) -> Condition:
    """Whether something is true of one of some tables."""
    keys = [dg.AssetKey(identifier_of(name)) for name in tables]
    return reduce(or_, [AutomationCondition.asset_matches(key, condition) for key in keys])


def _pending(group: Group) -> Condition:
    """The group has news and was not asked for since, or the run that was asked for was cut short."""
    news = _any(group.inputs, _updated() | _recovered()) | _any(
        group.tables, AutomationCondition.missing().newly_true()
    )
    kept = _kept(news.with_label("an input has news, or a table of the group was never computed"))
    return kept | _any(group.tables, Interrupted()).with_label("a run of the group was cut short")


def _others_done(tables: Iterable[str], declarations: Declarations) -> Condition:
    """Those of some tables that are computed in runs of their own have no news to wait for."""
    conditions = [
        AutomationCondition.asset_matches(
            dg.AssetKey(identifier_of(name)),
            _pending(group_of(derived, declarations)) | AutomationCondition.in_progress(),
        )
        for name in tables
        if (derived := declarations.derived.get(name)) is not None
    ]
    if not conditions:
        return ~AutomationCondition.in_progress()
    return ~reduce(or_, conditions).with_label("a table upstream is computed in a run of its own")


def _kept(news: Condition) -> Condition:
    """News, until the asset is asked for.

    Dagster sees its own request one look later. What came between the two is younger than the request, and stays.
    """
    return news.since(AutomationCondition.newly_requested() & ~news)


def _updated() -> Condition:
    """It was written, and not by a run that computes the asset in question as well."""
    return AutomationCondition.newly_updated() & ~AutomationCondition.executed_with_root_target()


def _failed() -> Condition:
    return AutomationCondition.any_checks_match(AutomationCondition.check_failed(), blocking_only=True)


def _recovered() -> Condition:
    """It was held back by a check and is no longer: whatever else was computed meanwhile has to be computed with it."""
    return (~_failed()).newly_true() & ~AutomationCondition.initial_evaluation()


def _being_judged() -> Condition:
    return AutomationCondition.any_checks_match(AutomationCondition.run_in_progress(), blocking_only=True)
