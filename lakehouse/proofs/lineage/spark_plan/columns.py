"""Follows columns through a plan, operator by operator, from the tables to what comes out.

Numbers alone would not do: a union gives its columns the numbers of its first branch. So each operator's output is made
from that of its children. An operator that is not known here gives columns that nobody can trace.
"""

import re
from collections.abc import Callable, Sequence

from lakehouse.declarations.columns.names import RESERVED_NAMES
from lakehouse.proofs.lineage.spark_plan.expressions import (
    UNKNOWN,
    Attribute,
    ExpressionScope,
    Output,
    attributes,
    lists,
    outputs,
    sources,
    split,
    together,
)
from lakehouse.proofs.lineage.spark_plan.scans import scan_of
from lakehouse.proofs.lineage.spark_plan.tree import Node

# Operators whose rows are some or all of their one child's, unchanged.
_SAME_ROWS = frozenset(
    {"CollectMetrics", "Deduplicate", "Distinct", "Filter", "GlobalLimit", "LocalLimit", "Offset", "Sample", "Sort"}
    | {"RebalancePartitions", "Repartition", "RepartitionByExpression", "ResolvedHint", "SubqueryAlias", "Tail", "View"}
)
_LEFT_ONLY = ("LeftSemi", "LeftAnti")


class Columns:
    """The columns that each operator of one plan gives."""

    def __init__(self) -> None:
        """Begin with a plan."""
        self._common: dict[str, Output] = {}  # common table expressions, by number
        self._rules: dict[str, Callable[[Node], Output]] = {
            "RelationV2": _relation,
            "LocalRelation": _made_here,
            "OneRowRelation": lambda _: Output(whole=True),
            "Range": lambda _: UNKNOWN,  # it does not print its column
            "Project": self._project,
            "Aggregate": self._project,
            "Window": self._window,
            "Generate": self._generate,
            "Expand": self._expand,
            "Union": self._union,
            "Except": self._first,
            "Intersect": self._first,
            "Join": self._join,
            "LateralJoin": self._lateral_join,
            "WithCTE": self._with_common,
            "CTERelationDef": self._define_common,
            "CTERelationRef": self._refer_to_common,
        }

    def of(self, node: Node) -> Output:
        """What an operator gives."""
        if node.kind in _SAME_ROWS and len(node.children) == 1:
            return self._first(node)
        return self._rules.get(node.kind, _untraceable)(node)

    def _first(self, node: Node) -> Output:
        return self.of(node.children[0]) if node.children else Output(whole=True)

    def _scope(self, node: Node) -> ExpressionScope:
        return ExpressionScope(self._first(node), [self.of(plan) for plan in node.subqueries])

    def _project(self, node: Node) -> Output:
        groups = lists(node.text)
        return outputs(groups[-1], self._scope(node)) if groups else UNKNOWN

    def _window(self, node: Node) -> Output:
        groups = lists(node.text)
        return self._first(node) + (outputs(groups[0], self._scope(node)) if groups else UNKNOWN)

    def _generate(self, node: Node) -> Output:
        groups = lists(node.text)
        if not groups:
            return UNKNOWN
        generator = node.text[: node.text.rindex(f"[{groups[-1]}]")]
        return self._first(node) + attributes(groups[-1], sources(generator, self._scope(node)))

    def _expand(self, node: Node) -> Output:
        """Each row several times, with other columns blanked: `Expand [[a#1, null], [null, b#2]], [x#3, y#4]`."""
        groups = lists(node.text)
        if groups is None or len(groups) != 2:
            return UNKNOWN
        printed, scope = attributes(groups[1]), self._scope(node)
        versions = [split(row[1:-1]) or [] for row in split(groups[0]) or []]
        if not versions or any(len(version) != len(printed.columns) for version in versions):
            return UNKNOWN
        merged = [
            Attribute(column.name, column.id, together(sources(text, scope) for text in texts))
            for column, *texts in zip(printed.columns, *versions, strict=True)
        ]
        return Output(tuple(merged), printed.whole)

    def _union(self, node: Node) -> Output:
        branches = [self.of(child) for child in node.children]
        if not all(branch.whole for branch in branches) or len({len(branch.columns) for branch in branches}) != 1:
            return UNKNOWN
        same_place: Sequence[tuple[Attribute, ...]] = list(zip(*(b.columns for b in branches), strict=True))
        merged = [
            Attribute(position[0].name, position[0].id, together(a.sources for a in position))
            for position in same_place
        ]
        return Output(tuple(merged), whole=True)

    def _join(self, node: Node) -> Output:
        if node.text.removeprefix("Join ").startswith(_LEFT_ONLY):
            return self._first(node)
        left, right = node.children
        return self.of(left) + self.of(right)

    def _lateral_join(self, node: Node) -> Output:
        right = self.of(node.subqueries[0]) if len(node.subqueries) == 1 else UNKNOWN
        return self._first(node) + right

    def _with_common(self, node: Node) -> Output:
        *definitions, query = node.children
        for definition in definitions:
            self.of(definition)
        return self.of(query)

    def _define_common(self, node: Node) -> Output:
        output = self._common[_number(node.text)] = self._first(node)
        return output

    def _refer_to_common(self, node: Node) -> Output:
        defined, groups = self._common.get(_number(node.text), UNKNOWN), lists(node.text)
        printed = attributes(groups[0]) if groups else UNKNOWN
        if not defined.whole or len(printed.columns) != len(defined.columns):
            return printed
        renumbered = zip(printed.columns, defined.columns, strict=True)
        return Output(tuple(Attribute(new.name, new.id, old.sources) for new, old in renumbered), printed.whole)


def _relation(node: Node) -> Output:
    scan = scan_of(node)
    if scan is None or not scan.rows:
        return _untraceable(node)
    printed = attributes(scan.columns)
    # A name with a comma or a number sign in it would read as several columns.
    if not all(column.name.isidentifier() for column in printed.columns):
        return UNKNOWN
    named = [
        Attribute(
            column.name,
            column.id,
            None if column.name in RESERVED_NAMES else frozenset({(scan.source, column.name)}),
        )
        for column in printed.columns
    ]
    return Output(tuple(named), printed.whole)


def _made_here(node: Node) -> Output:
    """Rows that the query itself spells out: from no column of a table."""
    groups = lists(node.text)
    return attributes(groups[0], frozenset()) if groups else UNKNOWN


def _untraceable(node: Node) -> Output:
    """Columns that an operator prints at its end, of unknown origin: a function in Python, another source of rows."""
    groups = lists(node.text)
    return attributes(groups[-1]) if groups else UNKNOWN


def _number(text: str) -> str:
    match = re.search(r"\d+", text)
    return match[0] if match else ""
