"""How an API server is reached: a pod's own account, or a context of the kubeconfig.

The official client is not asked for it: it wants python-dateutil 3, which botocore refuses, and has 75 MB.
"""

import base64
import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from lakehouse.errors import LakehouseError

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_EXEC_SECONDS = 60


class KubernetesAccessUnknown(LakehouseError):
    """No cluster is named, or not how one logs in to it."""


@dataclass(frozen=True)
class ClusterAccess:
    """One cluster, and who asks it.

    Args:
        server: its address.
        tls: with its authority, and a client's certificate if there is one; None for an address without TLS.
        token: looked up for each request, since it may be renewed; None where a certificate does.
    """

    server: str
    tls: ssl.SSLContext | None = field(repr=False)
    token: Callable[[], str | None] = field(repr=False)


def cluster_access(context: str | None, environ: Mapping[str, str] | None = None) -> ClusterAccess:
    """The cluster that a process is in, unless a context is named or there is a kubeconfig.

    Raises:
        KubernetesAccessUnknown: there is neither, or no such context.
    """
    env = os.environ if environ is None else environ
    path = Path(env.get("KUBECONFIG", "").split(os.pathsep)[0] or Path.home() / ".kube" / "config")
    host = env.get("KUBERNETES_SERVICE_HOST")
    if context is None and host and "KUBECONFIG" not in env:
        return _own_account(f"https://{_bracketed(host)}:{env.get('KUBERNETES_SERVICE_PORT', '443')}")
    if not path.is_file():
        raise KubernetesAccessUnknown(
            f"There is no kubeconfig at {path}, and this process is in no pod.",
            remedy="let KUBECONFIG name the file, or run Dagster in the cluster, with a service account.",
        )
    return _of_kubeconfig(path, context)


def _own_account(server: str) -> ClusterAccess:
    tls = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    return ClusterAccess(server, tls, (_ACCOUNT / "token").read_text)  # the kubelet renews the file


def _of_kubeconfig(path: Path, context: str | None) -> ClusterAccess:
    document = cast("dict[str, Any]", yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    name = context or document.get("current-context")
    chosen = _named(document, "context", name, path)
    cluster = _named(document, "cluster", chosen.get("cluster"), path)
    user = _named(document, "user", chosen.get("user"), path)
    server = str(cluster.get("server", ""))
    if server.startswith("http://"):
        return ClusterAccess(server, None, _token(user, path.parent))
    if cluster.get("insecure-skip-tls-verify"):
        raise KubernetesAccessUnknown(
            f"{path}: context {name!r} does not look whose certificate the cluster shows.",
            remedy="give the cluster its certificate-authority-data.",
        )
    tls = ssl.create_default_context(cadata=_text(cluster, "certificate-authority", path.parent))
    certificate, key = _text(user, "client-certificate", path.parent), _text(user, "client-key", path.parent)
    if certificate and key:
        with tempfile.NamedTemporaryFile("w") as file:  # mode 0600; OpenSSL reads certificates from files alone
            file.write(f"{certificate}\n{key}")
            file.flush()
            tls.load_cert_chain(file.name)
    return ClusterAccess(server, tls, _token(user, path.parent))


def _named(document: Mapping[str, Any], kind: str, name: object, path: Path) -> dict[str, Any]:
    for entry in document.get(f"{kind}s") or []:
        if entry.get("name") == name:
            return entry.get(kind) or {}
    known = ", ".join(str(entry.get("name")) for entry in document.get(f"{kind}s") or []) or "none"
    raise KubernetesAccessUnknown(f"{path}: there is no {kind} {name!r}.", remedy=f"choose one of: {known}.")


def _text(section: Mapping[str, Any], key: str, folder: Path) -> str | None:
    if data := section.get(f"{key}-data"):
        return base64.b64decode(data).decode()
    return (folder / section[key]).read_text(encoding="utf-8") if section.get(key) else None


def _token(user: Mapping[str, Any], folder: Path) -> Callable[[], str | None]:
    if plugin := user.get("exec"):
        return lambda: _by_plugin(plugin)
    if token_file := user.get("tokenFile"):
        return (folder / token_file).read_text
    return lambda: user.get("token")


def _by_plugin(plugin: Mapping[str, Any]) -> str:
    """A token of the cloud's own command (`aws eks get-token`, `gke-gcloud-auth-plugin`)."""
    environ = {entry["name"]: entry["value"] for entry in plugin.get("env") or []}
    asked = {"apiVersion": plugin.get("apiVersion"), "kind": "ExecCredential", "spec": {"interactive": False}}
    command = [plugin["command"], *(plugin.get("args") or [])]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **environ, "KUBERNETES_EXEC_INFO": json.dumps(asked)},
            capture_output=True,
            check=True,
            timeout=_EXEC_SECONDS,
        )
        return str(json.loads(done.stdout)["status"]["token"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise KubernetesAccessUnknown(
            f"The kubeconfig's command {plugin['command']!r} gives no token ({type(error).__name__}).",
            remedy="log in to the cloud, and see that `kubectl get ns` works by the same kubeconfig.",
        ) from None  # what it printed may be a token


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
