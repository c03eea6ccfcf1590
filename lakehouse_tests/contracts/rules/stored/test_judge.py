"""A snapshot is judged from metadata where that decides, else in one aggregate; the report says which."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandera.pyspark as pa
import pyspark.sql.types as T  # noqa: N812
import pytest
from pandera.api.checks import Check

from lakehouse.contracts.rules.stored import ColumnMissing, SnapshotGone
from lakehouse.declarations.policies.expectation import Rows
from lakehouse_tests.contracts.rules.conftest import MakeContract, broken_rules, declare

pytestmark = pytest.mark.spark

KEY = pa.Column(T.LongType(), nullable=False)


def test_rules_that_metadata_decide_need_neither_spark_nor_a_data_file(contract: MakeContract, tmp_path: Path) -> None:
    things = contract(
        {
            "id": KEY,
            "n": pa.Column(T.IntegerType(), Check.in_range(1, 12), nullable=True, metadata={"expected": True}),
            "of_one": pa.Column(T.StringType(), [Check.eq("EWR"), Check.str_matches("^[A-Z]{3}$")], nullable=False),
            "few": pa.Column(T.IntegerType(), [Check.isin([1, 2, 3]), Check.notin([9])], nullable=False),
            "day": pa.Column(T.DateType(), Check.ge(dt.date(2013, 1, 1)), nullable=False),
            "at": pa.Column(T.TimestampType(), Check.lt(dt.datetime(2014, 1, 1, tzinfo=dt.UTC)), nullable=False),
            "paid": pa.Column(T.DecimalType(9, 2), Check.ge(0.5), nullable=False),
            "code": pa.Column(T.StringType(), Check.str_startswith("N"), nullable=False),
        },
        expects=(Rows(least=2, most=5),),
    )
    row = {
        "of_one": "EWR",
        "day": dt.date(2013, 5, 1),
        "at": dt.datetime(2013, 5, 1, tzinfo=dt.UTC),
        "paid": Decimal("0.50"),
    }
    things.append(
        [{"id": 1, "n": 12, "few": 1, "code": "N1", **row}, {"id": 2, "n": None, "few": 3, "code": "N2", **row}]
    )
    things.without_data(tmp_path)
    report = things.judge()
    assert (things.sessions, report.jobs) == (0, 0)
    assert broken_rules(report) == {
        **dict.fromkeys([verdict.name for verdict in report.verdicts], (0, "manifests")),
        "n: expected, but null": (1, "manifests"),
        "at least 2 rows and at most 5 rows": (0, "summary"),
    }
    assert len(report.verdicts) == 18


def test_what_bounds_cannot_decide_is_scanned_in_one_job_and_shown_by_another(contract: MakeContract) -> None:
    things = contract(
        {
            "id": KEY,
            "share": pa.Column(T.DoubleType(), Check.le(1.0), nullable=True),
            "code": pa.Column(T.StringType(), Check.str_matches("^[0-9A-Z]{2}$"), metadata={"severity": "warning"}),
            "secret": pa.Column(T.IntegerType(), Check.ge(0), nullable=False, metadata={"sensitive": True}),
        },
        key=("id",),
    )
    things.append([{"id": n, "share": 0.5, "code": f"A{n}", "secret": n} for n in range(5)])
    sound = things.judge()
    assert broken_rules(sound) == {
        "id: required, but null": (0, "manifests"),
        "share: less_than_or_equal_to(1.0)": (0, "scan"),
        "code: required, but null": (0, "manifests"),
        "code: str_matches('^[0-9A-Z]{2}$')": (0, "scan"),
        "secret: required, but null": (0, "manifests"),
        "secret: greater_than_or_equal_to(0)": (0, "scan"),
    }
    assert (sound.jobs, things.jobs) == (1, [1])
    things.append([{"id": 10 + n, "share": 2.0 + n, "code": "a", "secret": -4711} for n in range(3)])
    broken = things.judge()
    assert (broken.jobs, things.jobs) == (2, [1, 2])
    examples = {verdict.name: verdict.examples for verdict in broken.broken}
    assert examples == {
        "share: less_than_or_equal_to(1.0)": ("share=2.0 (id=10)", "share=4.0 (id=12)"),
        "code: str_matches('^[0-9A-Z]{2}$')": ("code=a (id=10)", "code=a (id=12)"),
        "secret: greater_than_or_equal_to(0)": ("id=10", "id=12"),
    }
    assert [(v.column, v.broken, v.rows, v.share) for v in broken.broken_blocking] == [
        ("share", 3, 8, 3 / 8),
        ("secret", 3, 8, 3 / 8),
    ]
    assert broken.to_seal()["code: str_matches('^[0-9A-Z]{2}$')"] == {"severity": "warning", "broken": 3}
    assert broken.to_seal()["secret: greater_than_or_equal_to(0)"] == {"severity": "error", "broken": 3}
    assert "4711" not in str(broken)


def test_a_sensitive_key_and_value_make_no_example_and_no_job(contract: MakeContract) -> None:
    things = contract(
        {
            "who": pa.Column(T.StringType(), nullable=False, metadata={"sensitive": True}),
            "pin": pa.Column(T.IntegerType(), Check.ge(0), nullable=False, metadata={"sensitive": True}),
        },
        key=("who",),
    )
    things.append([{"who": "Ann Smith", "pin": -4711}])
    report = things.judge()
    assert (report.jobs, things.jobs) == (1, [1])
    assert report.broken_blocking[0].examples == ()
    assert "Ann" not in str(report)
    assert "4711" not in str(report)


def test_forty_columns_and_sixty_rules_are_two_jobs_and_none_where_metadata_answers(contract: MakeContract) -> None:
    columns: dict[str, Any] = {"id": KEY}
    columns |= {f"w{n}": pa.Column(T.DoubleType(), [Check.ge(0), Check.ne(7)], nullable=True) for n in range(20)}
    columns |= {f"i{n}": pa.Column(T.IntegerType(), Check.in_range(0, 9), nullable=False) for n in range(19)}
    things = contract(columns, key=("id",))
    assert len(columns) == 40
    good = dict.fromkeys(columns, 1)
    things.append([{**good, **{name: 1.0 for name in columns if name[0] == "w"}, "id": n} for n in range(4)])
    report = things.judge()
    assert len(report.verdicts) == 79
    assert report.answered == {"seal": 0, "summary": 0, "manifests": 39, "scan": 40}
    assert things.jobs == [1]
    bad = {name: -1.0 if name[0] == "w" else -1 for name in columns}
    things.append([{**bad, "id": 9}])
    report = things.judge()
    assert len(report.broken_blocking) == 39
    assert things.jobs == [1, 2]


def test_bounds_tell_how_many_rows_break_a_rule_where_whole_files_do(contract: MakeContract, tmp_path: Path) -> None:
    things = contract({"id": KEY, "n": pa.Column(T.IntegerType(), Check.ge(0), nullable=True)})
    things.append([{"id": 1, "n": 3}])
    things.append([{"id": 2, "n": -1}, {"id": 3, "n": -2}, {"id": 4, "n": None}])
    things.without_data(tmp_path)
    report = things.judge()
    assert broken_rules(report)["n: greater_than_or_equal_to(0)"] == (2, "manifests")
    assert report.rows == 4
    assert report.jobs == 0


def test_deleted_rows_do_not_count_though_their_files_still_hold_them(contract: MakeContract) -> None:
    columns = {"id": KEY, "n": pa.Column(T.IntegerType(), Check.ge(0), nullable=True, metadata={"expected": True})}
    things = contract(columns, expects=(Rows(least=2),), properties={"write.delete.mode": "merge-on-read"})
    things.append([{"id": 1, "n": 3}, {"id": 2, "n": -1}, {"id": 3, "n": -2}, {"id": 4, "n": None}, {"id": 5, "n": 1}])
    things.sql("DELETE FROM lake.raw.things WHERE id IN (2, 3, 4)")
    report = things.judge()
    assert broken_rules(report) == {
        "id: required, but null": (0, "manifests"),
        "n: expected, but null": (0, "scan"),
        "n: greater_than_or_equal_to(0)": (0, "scan"),
        "at least 2 rows": (0, "summary"),
    }
    assert report.rows == 2


def test_the_number_of_rows_is_counted_where_the_summary_leaves_it_open(contract: MakeContract) -> None:
    things = contract({"id": KEY}, expects=(Rows(least=4, severity="warning"),))
    assert things.declared.expects
    things.append([{"id": n} for n in range(3)])
    report = things.judge()
    assert broken_rules(report)["at least 4 rows"] == (1, "summary")
    columns, properties = {"id": KEY}, {"write.delete.mode": "merge-on-read"}
    things = contract(columns, name="raw.more", expects=(Rows(least=5),), properties=properties)
    things.append([{"id": n} for n in range(5)])
    before = things.sql("DELETE FROM lake.raw.more WHERE id IN (2, 3)")
    after = things.append([{"id": 9}])
    report = things.judge(after, since=before)
    assert broken_rules(report)["at least 5 rows"] == (1, "scan")
    assert (report.rows, report.jobs, report.since) == (4, 1, None)
    assert report.whole_because == "delete files leave open how many rows there are"


def test_only_what_was_added_is_judged_and_adds_up_with_what_was_judged_before(either_contract: MakeContract) -> None:
    things = either_contract({"id": KEY, "share": pa.Column(T.DoubleType(), Check.le(1.0), nullable=True)}, key=("id",))
    first = things.append([{"id": 1, "share": 5.0}, {"id": 2, "share": 0.0}])
    earlier = things.judge()
    things.append([{"id": 3, "share": 6.0}])
    things.sql("CALL lake.system.rewrite_data_files(table => 'raw.things', options => map('rewrite-all', 'true'))")
    last = things.append([{"id": 4, "share": 0.0}, {"id": 5, "share": 7.0}])
    newer = things.judge(last, since=first)
    assert (newer.since, newer.whole_because, newer.rows) == (first, "", 3)
    assert newer.broken[0].examples == ("share=6.0 (id=3)", "share=7.0 (id=5)")
    whole = things.judge()
    assert (whole.rows, whole.since) == (earlier.rows + newer.rows, None) == (5, None)
    assert whole.broken[0].broken == earlier.broken[0].broken + newer.broken[0].broken == 3
    nothing = things.judge(last, since=last)
    assert (nothing.rows, nothing.jobs, nothing.broken) == (0, 0, [])


def test_where_more_than_appends_came_since_all_rows_are_judged(contract: MakeContract) -> None:
    things = contract({"id": KEY, "n": pa.Column(T.IntegerType(), Check.ge(0), nullable=True)})
    first = things.append([{"id": 1, "n": -1}])
    things.append([{"id": 2, "n": 1}])
    last = things.sql("DELETE FROM lake.raw.things WHERE id = 2")
    report = things.judge(last, since=first)
    assert (report.since, report.rows, broken_rules(report)["n: greater_than_or_equal_to(0)"][0]) == (None, 1, 1)
    assert report.whole_because == f"snapshot {last} did more than append"
    elsewhere = things.judge(first, since=17)
    assert "17 is not among its ancestors" in elsewhere.whole_because


def test_a_staged_branch_is_judged_before_anybody_sees_it(either_contract: MakeContract) -> None:
    things = either_contract({"id": KEY, "share": pa.Column(T.DoubleType(), Check.le(1.0), nullable=True)})
    seen = things.append([{"id": 1, "share": 0.5}])
    things.load().manage_snapshots().create_branch(seen, "attempt").commit()
    things.sql("INSERT INTO lake.raw.things.branch_attempt VALUES (2, 9.0)")
    staged = things.load().metadata.refs["attempt"].snapshot_id
    assert things.head == seen
    assert [verdict.column for verdict in things.judge(staged).broken_blocking] == ["share"]
    assert things.judge(staged, since=seen).rows == 1
    assert not things.judge(seen).broken


def test_files_without_statistics_are_scanned(contract: MakeContract) -> None:
    columns = {"id": KEY, "n": pa.Column(T.IntegerType(), Check.ge(0), nullable=True)}
    things = contract(columns, properties={"write.metadata.metrics.default": "none"})
    things.append([{"id": 1, "n": 1}])
    assert {source for _, source in broken_rules(things.judge()).values()} == {"scan"}


def test_numbers_that_are_none_are_no_less_and_no_more_than_a_bound(contract: MakeContract) -> None:
    things = contract(
        {"id": KEY, "x": pa.Column(T.DoubleType(), [Check.ge(0), Check.le(9), Check.ne(5)], nullable=True)}
    )
    things.sql("INSERT INTO lake.raw.things VALUES (1, double('NaN')), (2, 1.0), (3, null)")
    report = things.judge()
    assert [broken for broken, _ in broken_rules(report).values()] == [0, 1, 1, 0]
    things.sql("DELETE FROM lake.raw.things WHERE id = 1")
    assert things.judge().jobs == 0, "Spark's writer counts them, so that bounds decide"


def test_an_empty_table_keeps_every_rule(contract: MakeContract) -> None:
    things = contract({"id": KEY, "n": pa.Column(T.StringType(), Check.str_matches("a"), nullable=True)})
    things.append([{"id": 1, "n": "b"}])
    things.sql("DELETE FROM lake.raw.things")
    report = things.judge()
    assert (report.rows, report.broken, things.sessions) == (0, [], 0)
    assert report.verdicts[0].share == 0


def test_what_cannot_be_judged_is_named(contract: MakeContract) -> None:
    things = contract({"id": KEY})
    snapshot = things.append([{"id": 1}])
    with pytest.raises(SnapshotGone, match="there is no snapshot 17"):
        things.judge(17)
    things.declared = declare({"id": KEY, "new": T.LongType()})
    with pytest.raises(ColumnMissing, match=rf"snapshot {snapshot} has no column new"):
        things.judge()
