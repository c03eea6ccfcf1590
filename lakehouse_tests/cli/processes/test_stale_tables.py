"""What `lakehouse run` takes for a reason to compute."""

from types import SimpleNamespace

import pytest

from lakehouse.cli.processes.stale_tables import news
from lakehouse.orchestration.resources import Lake as LakeResource
from lakehouse.proofs.lineage.computations import Computation
from lakehouse.proofs.lineage.origins import Origin
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.derived.workshop import DAY, Workshop, make_workshop, no_spark

pytestmark = pytest.mark.slow


def reasons(office: Workshop, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr("lakehouse.cli.processes.stale_tables.derived_version", lambda _: "")
    lake = LakeResource(None, office.declarations)  # type: ignore[arg-type]
    vars(lake).update(catalog=office.catalog, settings=SimpleNamespace(parameters={}))
    return [item.why for item in news(lake)]


@pytest.mark.parametrize("growing", [{}, {"mode": "incremental", "follows": "sales"}])
def test_a_part_of_older_inputs_is_news_unless_new_rows_would_not_mend_it(
    sql_lake: Lake, monkeypatch: pytest.MonkeyPatch, growing: dict[str, str]
) -> None:
    office = make_workshop(sql_lake, no_spark)
    derived, sales, old = office.derived("one", **growing), office.name("sales"), office.head("sales")
    new = office.sell(("Rome", 7))
    office.computed(derived)
    assert reasons(office, monkeypatch) == []
    office.computed(derived, computed_from=(Origin({sales: old or 0}, ("may",)), Origin({sales: new}, ("june",))))
    assert reasons(office, monkeypatch) == ([] if growing else [f"{sales} has news"])


@pytest.mark.parametrize("growing", [{}, {"mode": "incremental", "follows": "sales"}])
def test_a_part_of_another_day_or_of_other_parameters_is_news(
    sql_lake: Lake, monkeypatch: pytest.MonkeyPatch, growing: dict[str, str]
) -> None:
    office = make_workshop(sql_lake, no_spark)
    derived, june = office.derived("one", **growing), Computation(DAY, "{}", "run", ("june",))
    office.computed(derived, computed_by=(Computation("2013-05-13", "{}", "run", ("may",)), june))
    assert reasons(office, monkeypatch) == [f"derived tables are of 2013-05-13 and {DAY}"]
    office.computed(derived, computed_by=(Computation(DAY, "q", "run", ("may",)), june))
    assert reasons(office, monkeypatch) == (
        [] if growing else [f"parts of {derived.name} were computed with other parameters"]
    )
