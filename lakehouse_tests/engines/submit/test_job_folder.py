"""A job's folder is found again by its token, and its messages are whole or not there, in any store."""

import os
from pathlib import Path

import pytest

from lakehouse.engines.submit.job_folder import JobFolder, folder_at, folder_of, newest_folder, storage_of
from lakehouse.engines.submit.remote_jobs import LaunchToken
from lakehouse.settings import Platform, Settings
from lakehouse.settings.models import KubernetesSettings
from lakehouse_tests.fixtures.spark import settings_of


@pytest.fixture
def settings(tmp_path: Path, jars: Path) -> Settings:
    return settings_of(tmp_path, jars, Platform(name="local", mode="submit", master="local[1]"))


def newest(settings: Settings) -> JobFolder:
    return newest_folder(settings, "ingest_birds", "run-1")


def test_a_retry_meets_the_try_that_is_not_settled(settings: Settings) -> None:
    first = newest(settings)
    assert (str(first.token), first.settled) == ("ingest_birds/run-1/1", False)
    assert newest(settings).token == first.token
    first.settle()
    assert newest(settings).token.number == 2
    assert newest_folder(settings, "ingest_birds", "run-2").token.number == 1
    again = folder_at(settings, first.location)
    assert (again.token, again.location) == (first.token, folder_of(settings, first.token).location)
    with pytest.raises(ValueError, match="no folder of a job"):
        folder_at(settings, "s3://bucket/steps")


def test_only_whole_chunks_are_messages(settings: Settings) -> None:
    folder = newest(settings)
    assert folder.chunk(1) is None
    folder.put_chunk(1, ['{"a": 1}', '{"b": "\\n"}'])
    folder.write("messages/2.jsonl", b'{"c": 3}\n{"d"')
    assert folder.chunk(1) == ['{"a": 1}', '{"b": "\\n"}']
    assert list(folder.messages()) == ['{"a": 1}', '{"b": "\\n"}'], "what a killed driver has not finished is not there"


def test_who_waits_is_known_on_this_machine_alone(settings: Settings) -> None:
    folder = newest(settings)
    assert folder.watched is None
    folder.watch()
    assert folder.watched is True
    host = (folder.read("watcher") or b"").split()[0].decode()
    folder.write("watcher", f"{host} {os.getpid()} another-start".encode())
    assert folder.watched is False
    folder.write("watcher", b"another-host 1 start")
    assert folder.watched is None


def test_storage_is_opened_by_the_catalogs_properties_of_storage(settings: Settings) -> None:
    properties = {"s3.endpoint": "http://127.0.0.1:9000", "token": "t0p-secret"}
    catalog = settings.catalog.model_copy(update={"properties": properties})
    section = KubernetesSettings(image="i")
    cloud = Platform(name="k", mode="submit", messages="s3://bucket/steps/", kubernetes=section)
    elsewhere = settings.model_copy(update={"catalog": catalog, "platform": cloud})
    io = storage_of(elsewhere)
    assert io.properties == {"s3.endpoint": "http://127.0.0.1:9000"}
    token = LaunchToken("ingest_birds", "run-1", 1)
    folder = folder_of(elsewhere, token)
    assert folder.location == "s3://bucket/steps/ingest_birds/run-1/1"
    assert "9000" not in repr(folder)
