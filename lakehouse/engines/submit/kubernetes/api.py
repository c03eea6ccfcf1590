"""The few requests to an API server that jobs need; a refusal says which permission it was about."""

import json
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlencode

import urllib3
from urllib3.exceptions import HTTPError

from lakehouse.engines.submit.kubernetes.access import ClusterAccess
from lakehouse.errors import LakehouseError

_TIMEOUT = urllib3.Timeout(connect=10, read=60)
# Safe to ask again: a second POST of one name is refused as a conflict, and a second DELETE finds nothing.
_RETRIES = urllib3.Retry(5, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504), allowed_methods=None)
_NOT_FOUND, _CONFLICT, _FORBIDDEN = 404, 409, 403


class KubernetesUnreachable(LakehouseError):
    """The API server does not answer."""


class KubernetesRefused(LakehouseError):
    """The API server refuses a request."""


class AlreadyThere(Exception):
    """An object of this name exists."""


class KubernetesApi:
    """Requests of one namespace."""

    def __init__(self, access: ClusterAccess, namespace: str) -> None:
        """Take the cluster; nothing is sent."""
        self._access = access
        self._namespace = namespace
        self._pool = urllib3.PoolManager(ssl_context=access.tls, timeout=_TIMEOUT, retries=_RETRIES)

    def get(self, kind: str, name: str = "", **query: str) -> dict[str, Any] | None:
        """An object, or a list; None if there is no such object.

        Args:
            kind: its path: `apis/spark.apache.org/v1/sparkapplications` or `api/v1/pods`, without the namespace.
            name: of one object.
            query: `labelSelector` and the like.

        Raises:
            KubernetesUnreachable, KubernetesRefused: no answer, or no permission.
        """
        answer = self._request("GET", kind, name, query)
        return None if answer is None else cast("dict[str, Any]", json.loads(answer))

    def create(self, kind: str, body: Mapping[str, Any]) -> None:
        """Make an object.

        Raises:
            AlreadyThere: there is one of this name.
            KubernetesUnreachable, KubernetesRefused: no answer, or no permission, or the object is not valid.
        """
        self._request("POST", kind, "", {}, body)

    def delete(self, kind: str, name: str) -> None:
        """Remove an object and what belongs to it; none is none.

        Raises:
            KubernetesUnreachable, KubernetesRefused: no answer, or no permission.
        """
        self._request("DELETE", kind, name, {"propagationPolicy": "Foreground"})

    def log(self, pod: str, lines: int) -> str:
        """The last lines that a pod has printed; empty if there is no such pod."""
        answer = self._request("GET", "api/v1/pods", f"{pod}/log", {"tailLines": str(lines)})
        return "" if answer is None else answer.decode(errors="replace")

    def _request(
        self, method: str, kind: str, name: str, query: Mapping[str, str], body: Mapping[str, Any] | None = None
    ) -> bytes | None:
        prefix, _, plural = kind.rpartition("/")
        path = f"/{prefix}/namespaces/{self._namespace}/{plural}" + (f"/{name}" if name else "")
        url = self._access.server.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
        headers = {"Content-Type": "application/json"}
        if token := self._access.token():
            headers["Authorization"] = f"Bearer {token.strip()}"
        sent = None if body is None else json.dumps(body).encode()
        try:
            answer = self._pool.request(method, url, headers=headers, body=sent)
        except HTTPError as error:
            raise KubernetesUnreachable(
                f"The API server at {self._access.server} does not answer: {type(error).__name__}.",
                remedy="see that `kubectl get sparkapp` works by the same kubeconfig and context.",
            ) from error
        if answer.status == _NOT_FOUND and method != "POST":
            return None
        if answer.status == _CONFLICT and method == "POST":
            raise AlreadyThere
        if answer.status >= 400:
            raise _refusal(method, path, answer.status, answer.data)
        return answer.data


def _refusal(method: str, path: str, status: int, content: bytes) -> KubernetesRefused:
    try:
        message = str(json.loads(content).get("message", ""))
    except (ValueError, AttributeError):
        message = ""
    remedy = (
        "give the account this permission: docs/how-to/spark-on-kubernetes.md has the role."
        if status in (401, _FORBIDDEN)
        else "install Apache's operator for Spark (spark.apache.org/v1), in a version that knows this object."
    )
    return KubernetesRefused(f"{method} {path} is refused ({status}): {message or 'no reason'}", remedy=remedy)
