from collections.abc import Iterator

import pytest

from lakehouse.doctor.finding import Diagnosis, examined, refused, well
from lakehouse.errors import LakehouseError


def test_an_error_of_ours_keeps_its_remedy_apart() -> None:
    finding = refused("java", LakehouseError("There is none.", remedy="install it."))  # whoever shows it adds the stop
    assert (finding.state, finding.message, finding.remedy) == ("wrong", "There is none.", "install it")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (LakehouseError("There is none.", remedy="install it."), "There is none."),
        (RuntimeError("the password is hush"), "This could not be examined (RuntimeError)."),
        (RecursionError("hush"), "This could not be examined (RecursionError)."),
    ],
)
def test_what_ends_an_examination_is_a_finding_and_repeats_no_secret(error: Exception, message: str) -> None:
    def findings() -> Iterator[Diagnosis]:
        yield well("java", "it is there")
        raise error

    first, last = examined("java", findings())
    assert (first.state, last.state, last.message) == ("well", "wrong", message)
    assert "hush" not in str(last)
