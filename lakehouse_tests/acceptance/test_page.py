"""The page about an acceptance run names what was tried and each verdict, and no address."""

from lakehouse.acceptance import Outcome, page
from lakehouse.settings import Settings


def test_what_was_tried_and_each_verdict(spark_settings: Settings) -> None:
    outcomes = [
        Outcome("races", "one wins", "seen", "5 races", seconds=1.25),
        Outcome("scope", "no other", "not seen", "nothing is vended", "ask for it"),
        Outcome("mirror", "P5", "refused", "a | b"),
    ]
    text = page(spark_settings, outcomes, {"catalog": "c", "platform": "p", "kafka": "k"})
    assert text.startswith("# c on p\n")
    assert ": 1 seen, 1 not seen, 1 refused." in text
    assert "| races | one wins | seen | 5 races | 1.2 |" in text
    assert "| scope | no other | not seen | nothing is vended. To do: ask for it | 0.0 |" in text
    assert "a \\| b" in text
    assert spark_settings.catalog.address not in text
