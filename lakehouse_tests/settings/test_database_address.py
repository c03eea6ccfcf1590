"""An address of a database that is none is refused, and no part of its password is repeated."""

import traceback

import pytest

from lakehouse.settings import CatalogSettings, SettingsError


@pytest.mark.parametrize(
    "address",
    ["postgresql+psycopg://u:p@ss:w0rd@h:5/db", "postgresql://u:w0rd@h:x/db", "w0rd", "://w0rd", "sqlite:////w0rd%00"],
)
def test_no_part_of_a_password_is_repeated(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    settings = CatalogSettings(type="sql", uri=address, warehouse="/w")
    with pytest.raises(SettingsError, match="no address of a database") as refused:
        settings.address  # noqa: B018
    assert "w0rd" not in "".join(traceback.format_exception(refused.value))


def test_addresses_of_databases_are_taken() -> None:
    for address in ("sqlite:////tmp/catalog.db", "postgresql+psycopg://u:p%40ss@h:5/db"):
        assert CatalogSettings(type="sql", uri=address, warehouse="/w").address == address


def test_a_rest_catalog_has_another_kind_of_address() -> None:
    assert CatalogSettings(type="rest", uri="https://h:5/w0rd", warehouse="w").address == "https://h:5/w0rd"
