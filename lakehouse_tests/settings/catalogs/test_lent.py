from datetime import UTC, datetime

import pytest

from lakehouse.settings.catalogs.lent import sas_facts, vended


def test_the_first_end_counts_and_names_are_no_values() -> None:
    lent = vended({"s3.session-token": "hush", "s3.session-token-expires-at-ms": "1000", "s3.access-key-id": "a"})
    assert lent is not None
    assert (lent.storage, lent.names, lent.stray) == ("s3", ("s3.session-token",), False)
    assert lent.ends == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert "hush" not in repr(lent)


def test_either_spelling_of_azures_expiry_is_known_and_told_apart() -> None:
    host = "account.dfs.core.windows.net"
    known = vended({f"adls.sas-token.{host}": "x", f"adls.sas-token-expires-at-ms.{host}": "1000"})
    stray = vended({f"adls.sas-token.{host}": "x", "expiration-time": "1000"})
    assert known is not None
    assert stray is not None
    assert known.ends == stray.ends
    assert (known.stray, stray.stray) == (False, True)


@pytest.mark.parametrize("text", ["soon", "-5", "1e12", "9" * 30])
def test_an_end_that_is_no_moment_is_not_known(text: str) -> None:
    lent = vended({"s3.session-token": "t", "s3.session-token-expires-at-ms": text})
    assert lent is not None
    assert lent.ends is None


def test_static_keys_are_not_lent() -> None:
    assert vended({"s3.access-key-id": "a", "s3.secret-access-key": "b", "adls.account-key": "c"}) is None


def test_a_sas_tells_nothing_of_its_signature() -> None:
    assert "hush" not in repr(sas_facts("?sr=b&sp=r&sig=hush"))
