"""Who asks a cluster: a context of the kubeconfig, by token, file, certificate or a cloud's command."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakehouse.engines.submit.kubernetes.access import KubernetesAccessUnknown, cluster_access


def kubeconfig(folder: Path, user: dict[str, Any], **cluster: Any) -> dict[str, str]:
    """A file with one context; returns the environment that names it."""
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1", **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    (folder / "config").write_text(yaml.safe_dump(document))
    return {"KUBECONFIG": str(folder / "config")}


def test_a_token_is_looked_up_for_each_request(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first")
    access = cluster_access(None, kubeconfig(tmp_path, {"tokenFile": "token"}))
    assert (access.server, access.tls, access.token()) == ("http://127.0.0.1:1", None, "first")
    (tmp_path / "token").write_text("second")
    assert access.token() == "second"
    assert cluster_access("c", kubeconfig(tmp_path, {"token": "t"})).token() == "t"
    assert "second" not in repr(access)


def test_a_clouds_command_gives_the_token(tmp_path: Path) -> None:
    program = """
import json, os
print(json.dumps({"status": {"token": os.environ["WHO"] + os.environ["KUBERNETES_EXEC_INFO"][-1]}}))
"""
    plugin = {"command": sys.executable, "args": ["-S", "-c", program], "env": [{"name": "WHO", "value": "eks"}]}
    assert cluster_access(None, kubeconfig(tmp_path, {"exec": plugin})).token() == "eks}"
    silent = {"command": sys.executable, "args": ["-S", "-c", "print('s3cret')"]}
    with pytest.raises(KubernetesAccessUnknown, match="gives no token") as caught:
        cluster_access(None, kubeconfig(tmp_path, {"exec": silent})).token()
    assert "s3cret" not in str(caught.value)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    environ = kubeconfig(tmp_path, {"token": "t"})
    with pytest.raises(KubernetesAccessUnknown, match="no context 'other'") as caught:
        cluster_access("other", environ)
    assert "choose one of: c" in caught.value.remedy
    with pytest.raises(KubernetesAccessUnknown, match="no kubeconfig"):
        cluster_access(None, {"KUBECONFIG": str(tmp_path / "none")})
    unseen = kubeconfig(tmp_path, {"token": "t"}, server="https://k", **{"insecure-skip-tls-verify": True})
    with pytest.raises(KubernetesAccessUnknown, match="whose certificate"):
        cluster_access(None, unseen)


def test_a_pod_asks_by_its_own_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakehouse.engines.submit.kubernetes.access._ACCOUNT", tmp_path)
    (tmp_path / "token").write_text("mine")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443", "HOME": str(tmp_path)}
    made: list[str] = []

    def context(cafile: str) -> None:
        made.append(cafile)

    monkeypatch.setattr("ssl.create_default_context", context)
    access = cluster_access(None, environ)
    assert (access.server, access.token()) == ("https://[fd00::1]:6443", "mine")
    assert made == [str(tmp_path / "ca.crt")]
