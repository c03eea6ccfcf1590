"""Addresses that are of the inside of a cluster, asked from where nobody knows them.

Kubernetes opens a NodePort, 30000 to 32767 by default, on the address of every node, and not on that of the service.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from lakehouse.doctor.finding import Diagnosis, wrong
from lakehouse.settings import Settings, SettingsError

_NODE_PORTS = range(30000, 32768)
_CLUSTER = (".svc", ".cluster.local")


def cluster_addresses(settings: Settings) -> Iterator[Diagnosis]:
    """Those of the catalog, of Spark Connect, and of Kafka."""
    catalog, remote = settings.catalog, settings.platform.remote_address
    if catalog.type == "rest":
        with suppress(SettingsError):  # a secret in it that cannot be read is a finding of its own
            yield from address("catalog", "uri of the catalog", catalog.address)
    if remote:
        yield from address("spark", "remote of the platform", remote)
    for server in filter(None, map(str.strip, settings.kafka.bootstrap_servers.split(","))):
        if port_of(server) is None:
            yield wrong(
                "kafka",
                f"bootstrap_servers: {server!r} is not host:port.",
                "write host:port, with commas between brokers, and the host of IPv6 in [ ]; in its file of conf/kafka",
            )
        else:
            yield from address("kafka", "bootstrap_servers", _kafka(server))


def address(check: str, key: str, url: str) -> Iterator[Diagnosis]:
    """What is wrong with one address; nothing if it is no cluster's, or is known here.

    Args:
        check: what is looked at.
        key: where the address stands.
        url: with a scheme.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # its words may repeat a password
        yield wrong(check, f"{key} is no address: its host or its port cannot be read.", "correct it")
        return
    if not host.endswith(_CLUSTER):
        return
    if port in _NODE_PORTS:
        service = "the port of the service instead of its NodePort"
        yield wrong(
            check,
            f"{key}: {host}:{port} joins a name that only the cluster knows with a NodePort, which nodes open.",
            f"from outside use a node's address with {port}; from inside use {service}",
        )
    elif not _known(host):
        inside = "the cluster's DNS does not know it" if "KUBERNETES_SERVICE_HOST" in os.environ else "here is outside"
        yield wrong(
            check,
            f"{key}: {host} is a name of the inside of a cluster, and {inside}.",
            "use the address of a node with the NodePort, of a load balancer or of an ingress",
        )


def port_of(server: str) -> int | None:
    """The port of a broker.

    Args:
        server: `host:port`, with or without the listener's protocol before it.

    Returns:
        None if it is something else.
    """
    try:
        parts = urlsplit(_kafka(server))
        port = parts.port
    except ValueError:
        return None
    return port if parts.hostname and port else None


def _kafka(server: str) -> str:
    return f"kafka://{server.rpartition('://')[2]}"


def _known(host: str) -> bool:
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return False
    return True
