"""The table of a catalog's keys: whole, and without a name twice."""

from collections import Counter

from lakehouse.settings import CatalogSettings
from lakehouse.settings.catalogs.keys import KEYS, STORAGE_KEYS, Side, keys_of

WITHOUT_A_ROW = {"name", "type", "uri", "warehouse", "properties"}  # what each kind of catalog says in its own way


def test_every_typed_key_has_a_row() -> None:
    assert {key.setting for key in KEYS} == CatalogSettings.model_fields.keys() - WITHOUT_A_ROW


def test_no_property_follows_from_two_keys() -> None:
    sides: tuple[Side, ...] = ("python", "java")
    for side in sides:
        names = Counter(name for key in KEYS if (name := key.name(side)))
        assert [name for name, times in names.items() if times > 1] == []


def test_keys_of_another_storage_are_left_out() -> None:
    assert "region" in {key.setting for key in keys_of("s3")}
    assert "region" not in {key.setting for key in keys_of("adls")}
    assert {key.setting for key in keys_of(None)} >= {"access", "scope"}


def test_what_opens_a_store_by_itself_is_of_every_cloud() -> None:
    assert {key.partition(".")[0] for key in STORAGE_KEYS} == {"s3", "adls", "gcs"}
