"""Manifests of Kubernetes whose `apiVersion` the operators of today serve no more."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

import yaml

from lakehouse.doctor.finding import Diagnosis, State, well, wrong

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
    findings = [finding for path in sorted(_files(folder)) for finding in _of_file(path)]
    yield from findings or [well("manifests", f"no manifest in {folder} has an old apiVersion")]


def _files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.suffix in {".yaml", ".yml"})


def _of_file(path: Path) -> Iterator[Diagnosis]:
    try:
        documents = cast("list[object]", list(yaml.safe_load_all(path.read_text(encoding="utf-8"))))
    except (yaml.YAMLError, UnicodeDecodeError):
        yield wrong("manifests", f"{path} is no YAML.", "correct it; a template has to be rendered first")
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
