"""What fails in a computation may tell the value it failed at; where a column is sensitive, nobody is shown it."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, cast

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from dagster._utils.error import serializable_error_info_from_exc_info
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from lakehouse.declarations import Derived
from lakehouse.engines.spark import SparkUnreachable
from lakehouse.steps.derived.compute import computed
from lakehouse.steps.derived.error_masking import function_errors_masked, spark_errors_masked
from lakehouse.steps.derived.refusals import ComputationFailed, NotAFrame
from lakehouse_tests.steps.derived.workshop import TOTALS, Workshop, table_of

SECRET = "Finder-4711"
NUMBERS = "SELECT name AS shop, CAST(name AS BIGINT) AS total FROM buyers"


def number_of(name: str) -> int:
    return int(name)


def at_the_driver(buyers: DataFrame) -> DataFrame:
    """Fails at a value, while it handles an error about the value."""
    first = buyers.first()
    assert first is not None
    try:
        number = number_of(first["name"])
    except ValueError as error:
        error.add_note(f"of {first['name']}")
        raise RuntimeError(f"no number in {first['name']}") from error
    return buyers.select(f.lit("x").alias("shop"), f.lit(number).alias("total"))


def declared(
    workshop: Workshop, sensitive: str, compute: Callable[[DataFrame], DataFrame] | str, *, written: bool = True
) -> Derived:
    """A table of numbers that is derived from names; of the one that is named, a column is sensitive."""
    given, made = (
        pandera.Column(T.StringType(), nullable=True, metadata={"sensitive": sensitive == table})
        for table in ("buyers", "numbers")
    )
    workshop.declare(table_of(workshop.name("buyers"), {"name": given}))
    if written:
        workshop.write("buyers", [{"name": SECRET}])
    return workshop.derived("numbers", {**TOTALS, "shop": made}, compute, inputs={"buyers": "buyers"})


def shown_by_dagster(error: BaseException) -> str:
    """An exception with all that Dagster stores of it, and of those behind it."""
    return serializable_error_info_from_exc_info((type(error), error, error.__traceback__)).to_string()


@pytest.mark.spark
@pytest.mark.parametrize("sensitive", ["buyers", "numbers", ""])
def test_sparks_message_is_told_unless_it_may_show_a_sensitive_value(
    workshop: Workshop, sensitive: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of an input, or of the table itself: what is there in another form is not always marked there."""
    derived = declared(workshop, sensitive, NUMBERS)
    with pytest.raises(ComputationFailed if sensitive else PySparkException) as caught:
        workshop.run(derived)
    assert (SECRET in shown_by_dagster(caught.value)) is not bool(sensitive)
    assert "CAST_INVALID_INPUT" in str(caught.value)
    assert SECRET not in capfd.readouterr().err  # where PySpark would write it by itself


@pytest.mark.spark
@pytest.mark.parametrize("sensitive", ["buyers", "numbers", ""])
def test_a_functions_message_is_told_unless_it_may_show_a_sensitive_value(workshop: Workshop, sensitive: str) -> None:
    derived = declared(workshop, sensitive, at_the_driver)
    with pytest.raises(ComputationFailed if sensitive else RuntimeError) as caught:
        workshop.run(derived)
    text = shown_by_dagster(caught.value)
    assert (SECRET in text) is not bool(sensitive)
    if sensitive:
        line = 1 + next(n for n, text in enumerate(Path(__file__).read_text().splitlines()) if "raise Runtime" in text)
        assert f"RuntimeError at {__file__}:{line} in at_the_driver" in str(caught.value)
        assert f"{workshop.name(sensitive)} has sensitive columns" in str(caught.value)


def test_a_function_that_fails_in_another_file_is_named_by_its_own_line(office: Workshop) -> None:
    def unread(buyers: object) -> Any:
        del buyers
        return Path(f"/no/{SECRET}").read_text()

    step = office.step(declared(office, "buyers", unread, written=False))
    with pytest.raises(ComputationFailed) as caught, function_errors_masked(step):
        computed(cast("Any", None), step.derived, {"buyers": cast("Any", None)}, runtime_date=date.min, parameters={})
    line = unread.__code__.co_firstlineno + 2
    assert f"FileNotFoundError at {__file__}:{line} in unread" in str(caught.value)
    assert SECRET not in shown_by_dagster(caught.value)


def test_our_own_refusals_and_lost_sparks_pass(office: Workshop) -> None:
    """A lost Spark is repeated by who knows it by its class."""
    step = office.step(declared(office, "buyers", NUMBERS, written=False))
    with pytest.raises(NotAFrame, match="an int"), function_errors_masked(step):
        raise NotAFrame("the function returned an int.")
    with pytest.raises(SparkUnreachable) as caught, spark_errors_masked(step):
        raise SparkUnreachable("gone") from ValueError(SECRET)
    assert SECRET not in shown_by_dagster(caught.value)
