"""Who mistypes a name is asked whether another was meant; nobody is shown a hundred names."""

import pytest

from lakehouse.declarations import Table
from lakehouse.declarations.registry.mistyped_names import correction, declare_or_use

SHOPS = [f"shops.s{number:03}" for number in range(100)]


@pytest.mark.parametrize(
    ("name", "known", "remedy"),
    [
        ("shop.order", ["shop.orders", "raw.flights"], "did you mean shop.orders? Otherwise declare it."),
        ("birds.seen", ["shop.orders"], "declare it, or use one of shop.orders."),
        ("birds.seen", [], "declare it."),
        ("birds.seen", SHOPS, "declare it, or use one of those that `lakehouse tables` lists."),
    ],
)
def test_a_table_that_is_not_declared(name: str, known: list[str], remedy: str) -> None:
    assert declare_or_use(name, known) == remedy


def _raised(line: str) -> BaseException:
    with pytest.raises((NameError, TypeError, ImportError)) as raised:
        exec(line, {"Table": Table})  # as a file of declarations is run
    return raised.value


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("Table(name='shop.orders', keys=('id',))", "did you mean key? Otherwise leave it out."),
        ("Table(name='shop.orders', zzz=1)", "correct the file."),
        ("Maintenance()", "add `from lakehouse import Maintenance`."),
        ("Nothing()", "correct the file."),
        ("len()", "correct the file."),
        ("from lakehouse import Tabel", "did you mean Table? Otherwise leave it out."),
        ("from lakehouse import zzz", "correct the file."),
        ("import no_such_package.part", "install no_such_package where this runs, or correct the file."),
    ],
)
def test_an_error_of_a_file(line: str, remedy: str) -> None:
    assert correction(_raised(line), {"Table": Table, "Maintenance": object}) == remedy
