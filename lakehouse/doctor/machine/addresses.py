"""Addresses that are of the inside of a cluster, asked from where nobody knows them.

Kubernetes opens a NodePort, 30000 to 32767 by default, on the address of every node, and not on that of the service.
"""

import os
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from lakehouse.doctor.finding import Diagnosis, wrong
from lakehouse.settings import Settings

_NODE_PORTS = range(30000, 32768)
_CLUSTER = (".svc", ".cluster.local")


def cluster_addresses(settings: Settings) -> Iterator[Diagnosis]:
    """Those of the catalog, of Spark Connect, and of Kafka."""
    catalog, remote = settings.catalog, settings.platform.remote_address
    if catalog.type == "rest":
        yield from address("catalog", "uri of the catalog", catalog.address)
    if remote:
        yield from address("spark", "remote of the platform", remote)
    for server in settings.kafka.bootstrap_servers.split(","):
        yield from address("kafka", "bootstrap_servers", f"kafka://{server.strip()}")


def address(check: str, key: str, url: str) -> Iterator[Diagnosis]:
    """What is wrong with one address; nothing if it is no cluster's, or is known here.

    Args:
        check: what is looked at.
        key: where the address stands.
        url: with a scheme.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
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


def _known(host: str) -> bool:
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return False
    return True
