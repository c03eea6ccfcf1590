"""Pasted values: what cannot be seen is named by its position."""

import pytest

from lakehouse.settings.values import (
    is_readable,
    names_a_host,
    problem_of_key,
    problem_of_name,
    problem_of_property,
    unseen,
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("arn:aws:iam::1\n", "U+000A"),
        ("eu-\u200bcentral-1", "U+200B (zero width space) at position 4"),
        ("a\u00a0b", "U+00A0 (no-break space) at position 2"),
        ("\ufefflake", "at position 1"),
        ("lake ", "a blank at its end"),
        (" lake", "a blank at its start"),
    ],
)
def test_what_nobody_sees_is_named(text: str, problem: str) -> None:
    assert problem in str(unseen(text))


def test_letters_of_any_language_and_inner_blanks_are_seen() -> None:
    assert unseen("Größe 東京") is None


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("region", "eu-central-1", "Frankfurt"),
        ("endpoint", "http://127.0.0.1:9000", "127.0.0.1:9000"),
        ("oauth2_server_uri", "https://idp.example/a/token", "https://user@idp.example"),
        ("realm", "POLARIS", "a/b"),
        ("scope", "PRINCIPAL_ROLE:ALL", 'a"b'),
        ("project", "lake-prod-1", "1"),
        ("account", "lakeprod", "lakeprod.dfs.core.windows.net"),
    ],
)
def test_each_key_has_its_form(key: str, good: str, bad: str) -> None:
    assert problem_of_key(key, good) is None
    assert str(problem_of_key(key, bad)).startswith("should be ")


@pytest.mark.parametrize(
    "address",
    [
        *("https://a..b", f"https://{'a' * 64}.example", "https://a:99999999", "http://a:b", "http://:80"),
        *("http://[::1", "http://[zz]/", "http://[::1]x", "http://*.example", "http://a%zz", "a.example"),
    ],
)
def test_what_no_client_could_ask_for_is_no_address(address: str) -> None:
    assert not names_a_host(address)
    for key in ("uri", "endpoint", "oauth2_server_uri"):
        assert "should be an address such as" in str(problem_of_key(key, address))


@pytest.mark.parametrize(
    "address",
    [
        "http://[::1]:8181/api",
        "https://größe.example",
        "http://my_polaris:8181",
        "http://127.0.0.1:65535/a@b",
        "http://a./",
    ],
)
def test_what_a_client_asks_for_is_an_address(address: str) -> None:
    assert names_a_host(address)


def test_an_address_of_the_web_among_the_properties_names_a_host() -> None:
    assert "should be an address" in str(problem_of_property("s3.endpoint", "http://[::1"))
    assert problem_of_property("s3.signer.endpoint", "v1/aws/s3/sign") is None
    assert problem_of_property("note", "http://[::1") is None


def test_a_folder_whose_host_has_no_end_cannot_be_read() -> None:
    assert [is_readable(text) for text in ("x://[::1", "file:///a/b", "lake")] == [False, True, True]


def test_an_arn_is_one() -> None:
    assert problem_of_property("s3.role-arn", "arn:aws:iam::123456789012:role/lake") is None
    assert "should be an ARN" in str(problem_of_property("client.assume-role.arn", "123456789012"))
    assert "position 14" in str(problem_of_property("s3.role-arn", "arn:aws:iam::\t123456789012:role/lake"))
    assert problem_of_property("s3.region", "warn") is None


@pytest.mark.parametrize("name", ["a/b", "a:b", "..", "", "a*", "a+b", "a`b", "lake\t"])
def test_names_that_polaris_refuses(name: str) -> None:
    assert problem_of_name(name) is not None


def test_a_name_that_polaris_takes() -> None:
    assert problem_of_name("lake_aws-1.x") is None
