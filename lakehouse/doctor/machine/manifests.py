"""Manifests of Kubernetes whose `apiVersion` the operators of today serve no more."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import yaml

from lakehouse.doctor.finding import Diagnosis, State, examined, not_asked, well, wrong

# Group → version → how it is, and what to write. Apache's operator 1.0, Kubeflow's 2.5, Strimzi 1.0.
_OLD: Mapping[str, Mapping[str, tuple[State, str]]] = {
    "spark.apache.org": {"v1alpha1": ("wrong", "v1"), "v1beta1": ("warning", "v1")},
    "sparkoperator.k8s.io": {"v1beta1": ("wrong", "v1beta2")},
    "kafka.strimzi.io": {"v1alpha1": ("wrong", "v1"), "v1beta1": ("wrong", "v1"), "v1beta2": ("wrong", "v1")},
}


def manifest_versions(folder: Path) -> Iterator[Diagnosis]:
    """Every manifest below a folder whose version is removed or about to be.

    Args:
        folder: of YAML files.
    """
    unread: list[OSError] = []
    files = sorted(
        Path(place, name)
        for place, _, names in os.walk(folder, onerror=unread.append)
        for name in names
        if name.endswith((".yaml", ".yml"))
    )
    findings = [finding for path in files for finding in examined("manifests", _of_file(path), str(path))]
    yield from (_unreadable(Path(error.filename), error, "name a folder that can be read") for error in unread)
    yield from findings
    if not files and not unread:
        yield not_asked("manifests", f"there is no YAML file in {folder}")
    elif not findings and not unread:
        yield well("manifests", f"no manifest in {folder} has an old apiVersion")


def _unreadable(path: Path, error: OSError, remedy: str) -> Diagnosis:
    return wrong("manifests", f"{path} cannot be read ({error.strerror}).", remedy)


def _of_file(path: Path) -> Iterator[Diagnosis]:
    try:
        documents = cast("list[object]", list(yaml.safe_load_all(path.read_text(encoding="utf-8"))))
    except OSError as error:
        yield _unreadable(path, error, "remove it, or make it readable")
        return
    except (yaml.YAMLError, ValueError, RecursionError):  # a date that is none, a nesting that is too deep
        yield wrong("manifests", f"{path} is no YAML that can be read.", "correct it; render a template first")
        return
    for document in documents:
        keys = cast("dict[str, object]", document) if isinstance(document, dict) else {}
        group, _, version = str(keys.get("apiVersion") or "").partition("/")
        old = _OLD.get(group, {}).get(version)
        if old is not None:
            state, new = old
            gone = "is served no more" if state == "wrong" else "will not be served for long"
            message = f"{path}: {keys.get('kind')} has apiVersion {group}/{version}, which {gone}."
            yield Diagnosis("manifests", state, message, f"write {group}/{new}, and upgrade the operator's CRDs")
