"""A registry that does not answer is named, with what it was asked for, and that nothing is lost."""

from lakehouse.engines.registries.registered_schema import no_answer


def test_the_line_says_which_what_and_why() -> None:
    error = no_answer("https://registry:1/path", "schema 7", "HTTP 503")
    assert error.message == "The schema registry https://registry:1/path does not say what schema 7 is (HTTP 503)."
    assert "nothing is lost" in error.remedy
