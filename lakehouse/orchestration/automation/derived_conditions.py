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
from lakehouse.orchestration.automation.interrupted_condition import FOLLOWING_TAG, Interrupted
from lakehouse.orchestration.automation.refresh_groups import Group, group_of, upstream_tables
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames

if TYPE_CHECKING:  # its own name for a condition that can have a label
    from dagster._core.definitions.declarative_automation.automation_condition import BuiltinAutomationCondition

EVERY_SECONDS = 10
Condition: TypeAlias = "BuiltinAutomationCondition[Any]"


def following(derived: Derived, declarations: Declarations, names: DagsterNames = DEFAULT_NAMES) -> Condition:
    """When a derived table is asked for: something that its group is computed from has news, and nothing is in the way.

    Of a table in partitions, that is all of them, in one run: its functions see their inputs whole, so nobody can tell
    which partitions some news leaves as they are.
    """
    group = group_of(derived, declarations)
    upstream = group.upstream(derived.name)
    return (
        _pending(names, group)
        & ~_any(names, group.tables, AutomationCondition.in_progress()).with_label("a run computes the group")
        & ~_any(names, group.tables, Interrupted(lately=True)).with_label(
            "a run of the group was cut short a moment ago"
        )
        & ~_any(names, group.inputs, _being_judged()).with_label("an input is being judged")
        & ~_any(names, upstream, _failed()).with_label("a blocking check of an input failed")
        & ~_any(names, upstream, AutomationCondition.missing()).with_label("an input was never written")
        & _others_done(names, upstream, declarations)
    )


def follow_release(release: Release, declarations: Declarations, names: DagsterNames = DEFAULT_NAMES) -> Condition:
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
    news = _any(names, members, _updated() | _recovered() | same_run) | AutomationCondition.missing().newly_true()
    return (
        (_kept(news.with_label("a member has news, or there is no release yet")) | Interrupted())
        & ~AutomationCondition.in_progress()
        & ~Interrupted(lately=True)
        & ~_any(names, members, Interrupted() & ~same_run).with_label("a run of a member was cut short")
        & ~_any(names, members, AutomationCondition.in_progress()).with_label("a member is being computed")
        & ~_any(names, around, _being_judged()).with_label("a member, or what it is computed from, is being judged")
        & ~_any(names, around, _failed() & ~same_run).with_label("a blocking check of a member, or above one, failed")
        & ~_any(names, members, AutomationCondition.missing() & ~same_run).with_label("a member was never written")
        & _others_done(names, apart, declarations)
    )


def following_sensor(
    declarations: Declarations,
    names: DagsterNames = DEFAULT_NAMES,
    status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.RUNNING,
) -> dg.AutomationConditionSensorDefinition | None:
    """Make the sensor that evaluates the conditions of all derived tables and releases; None where there are none."""
    tables = [*declarations.derived, *(release.pointer for release in declarations.releases.values())]
    if not tables:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", dg.BetaWarning
        )  # Dagster evaluates conditions that are not its own in no other way
        return dg.AutomationConditionSensorDefinition(
            "derived_tables_and_releases",
            target=dg.AssetSelection.assets(*(names.key(name) for name in tables)),
            description="Computes derived tables when something that they are computed from has news, and releases "
            "when their members have.",
            default_status=status,
            minimum_interval_seconds=EVERY_SECONDS,
            run_tags={FOLLOWING_TAG: "true"},
            use_user_code_server=True,
        )


def _any(names: DagsterNames, tables: Iterable[str], condition: AutomationCondition[Any]) -> Condition:
    """Whether something is true of one of some tables."""
    keys = [names.key(name) for name in tables]
    return reduce(or_, [AutomationCondition.asset_matches(key, condition) for key in keys])


def _pending(names: DagsterNames, group: Group) -> Condition:
    """The group has news and was not asked for since, or the run that was asked for was cut short."""
    news = _any(names, group.inputs, _updated() | _recovered()) | _any(
        names, group.tables, AutomationCondition.missing().newly_true()
    )
    kept = _kept(news.with_label("an input has news, or a table of the group was never computed"))
    return kept | _any(names, group.tables, Interrupted()).with_label("a run of the group was cut short")


def _others_done(names: DagsterNames, tables: Iterable[str], declarations: Declarations) -> Condition:
    """Those of some tables that are computed in runs of their own have no news to wait for."""
    conditions = [
        AutomationCondition.asset_matches(
            names.key(name),
            _pending(names, group_of(derived, declarations)) | AutomationCondition.in_progress(),
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
