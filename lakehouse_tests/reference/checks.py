"""`docs/reference/checks.md`: every asset check with its description, from the definitions of the demo."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lakehouse.declarations import Declarations, Rows, load_declarations
from lakehouse.orchestration.checks.derived.judges import trust_judges
from lakehouse.orchestration.checks.maintenance.definition import maintenance_checks
from lakehouse.orchestration.checks.mirror.definition import mirror_check_specs
from lakehouse.orchestration.checks.profile.judges import distribution_judges
from lakehouse.orchestration.checks.rules.judges import rule_judges
from lakehouse.orchestration.checks.stream.definition import check_specs
from lakehouse.orchestration.polaris.server_checks import polaris_checks
from lakehouse_tests.fixtures.demo_declarations import demo_declarations
from lakehouse_tests.reference.lines import head, wrapped

Described = tuple[str, str, bool]  # name, description, whether it blocks
_NAMED = (("references", "table"), *((kind, "column") for kind in ("drift", "sample", "same_values", "histogram")))


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def sections(declarations: Declarations) -> dict[str, list[Described]]:
    """Title → the checks that the demo has an example of, each once."""
    tables = list(declarations.tables.values())
    mirrors = [declarations.mirrors[name] for name in sorted(declarations.mirrors)]
    streams = [spec for stream in declarations.streams.values() for spec in check_specs(stream)]
    upkeep = list(maintenance_checks(tables[0], declarations).check_specs)
    counted = replace(tables[0], expects=(Rows(least=1),))  # which nothing of the demo asks for
    judges = {
        "Derived tables": [judge for table in tables for judge in trust_judges(table, declarations)],
        "Rules, keys and numbers": [
            judge for table in (*tables, counted) for judge in rule_judges(table, declarations)
        ],
        "How columns are distributed": [
            judge for table in tables for judge in distribution_judges(table, declarations)
        ],
    }
    return {
        "Streams": _once((spec.name, spec.description or "", spec.blocking) for spec in streams),
        "Mirrors": _once(
            (spec.name, spec.description or "", spec.blocking)
            for tables_of in mirrors
            for spec in mirror_check_specs(tables_of)
        ),
        **{
            title: _once((_pattern(judge.name), judge.description, judge.blocking) for judge in members)
            for title, members in judges.items()
        },
        "Maintenance": _once((spec.name, spec.description or "", spec.blocking) for spec in upkeep),
        "A Polaris server": _once(
            (spec.name, spec.description or "", spec.blocking) for spec in polaris_checks("example").check_specs
        ),
    }


def _once(checks: Iterable[Described]) -> list[Described]:
    first: dict[str, Described] = {}
    for check in checks:
        first.setdefault(check[0], check)
    return list(first.values())


def _pattern(name: str) -> str:
    """The name, with what a declaration puts into it in brackets."""
    for kind, what in _NAMED:
        name = re.sub(rf"^{kind}_.*", f"{kind}_<{what}>", name)
    return name


def _lines() -> Iterator[str]:
    yield from head(
        "Checks",
        "Every asset check, as Dagster shows it. Where a declaration has a part in the text, it is the demo's. A check "
        "that blocks stops what is computed from its table in the same run, and its releases.",
    )
    for title, members in sections(load_declarations([demo_declarations()])).items():
        yield from ("", f"## {title}")
        for name, description, blocking in members:
            yield from (
                "",
                f"### `{name}`",
                "",
                *wrapped(description),
                "",
                "It blocks." if blocking else "It blocks nothing.",
            )
