from lakehouse.doctor.catalog.error_meanings import NO_IDENTITY, meaning, meaning_of


def test_a_region_that_a_store_names_is_repeated_and_nothing_else() -> None:
    words = "AuthorizationHeaderMalformed: the region 'us-east-1' is wrong; expecting 'eu-central-1' (key AKIAHUSH)"
    known = meaning(words)
    assert known is not None
    assert "eu-central-1" in known[0]
    assert "AKIAHUSH" not in str(known)


def test_words_without_a_meaning_are_none() -> None:
    assert meaning("the weather is fine") is None


def test_the_cause_of_an_error_says_what_the_error_does_not() -> None:
    class NoCredentialsError(Exception):
        """As botocore names it."""

    error = OSError("AWS Error ACCESS_DENIED")
    assert meaning_of(error) == meaning("ACCESS_DENIED")
    error.__cause__ = NoCredentialsError()
    assert meaning_of(error) == NO_IDENTITY
