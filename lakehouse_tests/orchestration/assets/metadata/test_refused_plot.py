"""The picture of refused records shows the last days and the most frequent reasons."""

from datetime import date, timedelta

from lakehouse.orchestration.assets.metadata import refused_plot as module
from lakehouse.steps.ingest.repair.refused_trend import RefusedDay

TODAY = date(2026, 3, 30)


def test_nothing_refused_makes_no_picture() -> None:
    assert module.refused_markdown([], TODAY) == ""


def test_three_reasons_have_colours_and_the_others_one_together() -> None:
    reasons = ("not_json", "missing_field", "wrong_type", "rule", "too_deep")
    refused = [RefusedDay(TODAY - timedelta(days=n), reason, 10 - n) for n, reason in enumerate(reasons)]
    axes = module._figure(refused, TODAY).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [*reasons[:3], "others"]
    heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in axes.patches if bar.get_height()}
    assert heights == {module.DAYS - 1 - n: 10 - n for n in range(5)}
    assert "30 days to 2026-03-30" in module.refused_markdown(refused, TODAY)
