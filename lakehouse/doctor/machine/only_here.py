"""Addresses and files that are of this machine alone, where Spark's driver or its workers run on another."""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from sqlalchemy import make_url

from lakehouse.doctor.finding import Diagnosis, warning, wrong
from lakehouse.engines.spark.conf import is_local
from lakehouse.engines.spark.connect.client import Remote, SparkUnreachable
from lakehouse.engines.spark.connect.given_server import is_given
from lakehouse.engines.spark.registration import MasterUnreachable, is_standalone, masters_of
from lakehouse.iceberg.durable_files import local_path
from lakehouse.settings import CatalogSettings, Platform, Settings, SettingsError
from lakehouse.settings.catalogs.properties import python_properties

_Elsewhere = Literal["driver", "workers"]


def only_here(settings: Settings) -> Iterator[Diagnosis]:
    """Of the catalog, of its storage, and of Kafka; nothing where all of Spark runs here."""
    elsewhere = _elsewhere(settings)
    if elsewhere is None:
        return
    theirs = f"and the {elsewhere if elsewhere == 'workers' else 'drivers'} of the platform {settings.platform.name}"
    servers = [server.strip() for server in settings.kafka.bootstrap_servers.split(",")]
    if near := [server for server in servers if is_loopback(_host(f"kafka://{server.rpartition('://')[2]}"))]:
        yield wrong(
            "kafka",
            f"bootstrap_servers: {', '.join(near)} is this machine alone, {theirs} run elsewhere.",
            "name brokers that they reach in a file of conf/kafka, and choose it by LAKEHOUSE_KAFKA",
        )
    with suppress(SettingsError):  # what of the catalog's file cannot be read is a finding of its own
        yield from _of_catalog(settings.catalog, theirs, asked=elsewhere == "driver" or _lends(settings.catalog))
        yield from _of_storage(settings.catalog, theirs)
    yield from _of_warehouse(settings, theirs)


def is_loopback(host: str) -> bool:
    """Whether a host is the machine itself, whoever asks."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _elsewhere(settings: Settings) -> _Elsewhere | None:
    """Who is on another machine; a cluster whose address is a loopback one is on this."""
    platform = settings.platform
    # An address that is none is a finding of its own.
    with suppress(SparkUnreachable, MasterUnreachable, SettingsError):
        if is_given(platform):
            return None if is_loopback(Remote.of(settings).host) else "driver"
        if is_standalone(platform):
            return None if all(is_loopback(host) for host, _ in masters_of(platform)) else "workers"
        if platform.mode == "driver":
            return "workers"
        return None if is_local(platform) else "driver"
    return None


def _lends(catalog: CatalogSettings) -> bool:
    """Whether workers ask the catalog too: for credentials that are renewed, or for signatures."""
    return catalog.type == "rest" and catalog.access != "static"


def _of_catalog(catalog: CatalogSettings, theirs: str, *, asked: bool) -> Iterator[Diagnosis]:
    if not asked or not (address := catalog.address):
        return
    if catalog.type == "sql" and make_url(address).get_backend_name() == "sqlite":
        yield wrong(
            "catalog",
            f"uri of the catalog: a SQLite file is of this machine alone, {theirs} run elsewhere.",
            "choose a catalog that they reach by LAKEHOUSE_CATALOG: a REST catalog, PostgreSQL or AWS Glue",
        )
    elif is_loopback(host := (make_url(address).host or "") if catalog.type == "sql" else _host(address)):
        yield _unreachable("uri of the catalog", host, theirs)


def _of_storage(catalog: CatalogSettings, theirs: str) -> Iterator[Diagnosis]:
    for key, value in python_properties(catalog).items():
        if key.endswith(".endpoint") and key != "glue.endpoint" and is_loopback(host := _host(value)):
            yield _unreachable(f"endpoint of the storage ({key})", host, theirs)


def _unreachable(key: str, host: str, theirs: str) -> Diagnosis:
    return wrong(
        "catalog",
        f"{key}: {host} is this machine alone, {theirs} run elsewhere.",
        "write an address that they reach into the catalog's file",
    )


def _of_warehouse(settings: Settings, theirs: str) -> Iterator[Diagnosis]:
    warehouse, folder = settings.catalog.warehouse, local_path(settings.catalog.warehouse)
    if folder is None or not folder.is_absolute():  # of a REST catalog it may be a name
        return
    message = f"The warehouse {warehouse} is a folder, {theirs} run elsewhere."
    if _mounts_nothing(settings.platform) or folder.is_relative_to(settings.state.root.absolute()):
        yield wrong("catalog", message, "choose a warehouse in an object store, s3://, gs:// or abfss://")
    else:
        yield warning("catalog", message, "have it mounted there under the same path, or use an object store")


def _mounts_nothing(platform: Platform) -> bool:
    return platform.emr_serverless is not None or platform.glue is not None


def _host(url: str) -> str:
    try:
        return urlsplit(url if "://" in url else f"//{url}").hostname or ""
    except ValueError:  # a finding of the addresses
        return ""
