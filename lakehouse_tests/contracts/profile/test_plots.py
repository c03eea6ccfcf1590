"""Pictures are valid, small and drawn for any statistics that a column can have."""

import base64
import io
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image

from lakehouse.contracts.profile.conversion import ConversionResult
from lakehouse.contracts.profile.drift import compare_with_past
from lakehouse.contracts.profile.picture import markdown, png
from lakehouse.contracts.profile.plots import draw_bands, draw_column, draw_conversion, draw_histogram, draw_samples
from lakehouse.contracts.profile.statistics import ColumnProfile
from lakehouse_tests.contracts.profile.samples import statistics_of, texts_of

pytestmark = pytest.mark.slow

SMALL = 40_000
DAY = 86_400
LAST_DAY = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
NUMBERS = st.lists(st.none() | st.floats(-1e288, 1e288), min_size=1, max_size=30)


def rendered(figure: Figure | None) -> Image.Image:
    assert figure is not None
    text = markdown(figure, alt="a picture", caption="What it shows.")
    assert len(text) < SMALL
    match = re.fullmatch(r"What it shows\.\n\n!\[a picture\]\(data:image/png;base64,([A-Za-z0-9+/=]+)\)", text)
    assert match
    picture = Image.open(io.BytesIO(base64.b64decode(match[1])))
    picture.verify()
    return Image.open(io.BytesIO(base64.b64decode(match[1]))).convert("RGB")


def colours(picture: Image.Image) -> set[tuple[int, int, int]]:
    return {colour for _, colour in picture.getcolors(1 << 24) or ()}


def is_red(colour: tuple[int, int, int]) -> bool:
    return colour[0] > 150 and colour[1] < 110 and colour[2] < 120


def test_a_picture_has_paper_of_its_own() -> None:
    """A dark theme shows through what is transparent, and letters are black."""
    figure = draw_histogram("year", "", statistics_of([float(n) for n in range(100)]))
    assert figure
    bare = Image.open(io.BytesIO(png(figure)))
    assert "transparency" not in bare.info
    assert bare.convert("RGB").getpixel((1, 1)) == (255, 255, 255)


def test_outliers_are_marked_and_missing_values_told() -> None:
    body = [float(n % 40) for n in range(1000)]
    figure = draw_histogram("age", "years", statistics_of([*body, None, None, 900.0]))
    assert figure
    [main, strip] = figure.axes
    assert main.get_title("left") == "age: 1,001 values, 2 missing, 1 outliers (below -50 or above 90)"
    assert main.get_xlabel() == "age (years)"
    assert "from 0 to 900" in strip.get_title("left")
    assert any(map(is_red, colours(rendered(figure))))
    plain = draw_histogram("age", "years", statistics_of(body))
    assert plain
    assert not any(map(is_red, colours(rendered(plain))))


def test_a_mark_lies_where_the_outlier_is_however_far_out() -> None:
    figure = draw_histogram("n", "", statistics_of([*(float(n % 40) for n in range(1000)), 1e9]))
    assert figure
    marks = [x for line in figure.axes[1].lines for x in line.get_xdata()]
    assert marks == [1e9]


@given(NUMBERS)
@settings(deadline=None, max_examples=10)
def test_any_numbers_can_be_drawn(values: list[float | None]) -> None:
    statistics = statistics_of(values)
    if statistics.spread is None:
        assert draw_histogram("n", "m", statistics) is None
    else:
        rendered(draw_histogram("n", "m", statistics))


@pytest.mark.parametrize(
    "seconds",
    [
        [datetime(2013, month, 1, tzinfo=UTC).timestamp() for month in range(1, 13)],
        [0.0, 0.000001],
        [-1e11, 0.0, 1e12],  # years that no calendar of Python's has
        [5.0],
        [*(n * DAY for n in range(20)), LAST_DAY],  # "for ever", as many tables say it
        [LAST_DAY],
    ],
)
def test_any_times_can_be_drawn(seconds: list[float]) -> None:
    for statistics in (statistics_of(seconds, "instant"), statistics_of([s // DAY for s in seconds], "date")):
        rendered(draw_histogram("at", "UTC", statistics))
        rendered(draw_samples("at", "", statistics, statistics, ("here", "there"), "the same"))


def test_two_samples_can_be_drawn() -> None:
    numbers = [statistics_of([float(n % k) for n in range(500)]) for k in (7, 300)]
    rendered(draw_samples("n", "m", *numbers, ("here", "there"), "as far as 0.9"))
    far = statistics_of([1e18, 2e18])
    rendered(draw_samples("n", "", numbers[0], far, ("here", "there"), "far"))
    texts = [texts_of([f"name {n % k} $x_" for n in range(300)]) for k in (3, 250)]
    rendered(draw_samples("t", "", *texts, ("here", "there"), "texts"))
    assert draw_column("t", "", texts[1])


@pytest.mark.parametrize("column", [statistics_of([float(n) for n in range(99)] + [None]), texts_of(["a", "b", None])])
def test_bands_can_be_drawn_and_what_is_outside_is_red(column: ColumnProfile) -> None:
    past = [column] * 8
    assert not any(
        map(is_red, colours(rendered(draw_bands("n", "m", column.kind, compare_with_past(column, past, 5).banded))))
    )
    empty = ColumnProfile(column.kind, 100, 100)
    assert any(
        map(is_red, colours(rendered(draw_bands("n", "m", column.kind, compare_with_past(empty, past, 5).banded))))
    )
    assert draw_bands("n", "m", column.kind, ()) is None


def test_a_conversion_can_be_drawn() -> None:
    rendered(draw_conversion("precip", "raw.weather.precip", ConversionResult(10, 9, 0, 5, 1, 2, 1)))
