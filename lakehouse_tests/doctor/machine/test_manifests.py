from pathlib import Path

import pytest

from lakehouse.doctor.machine.manifests import manifest_versions


@pytest.mark.parametrize(
    ("version", "kind", "state", "new"),
    [
        ("spark.apache.org/v1alpha1", "SparkApplication", "wrong", "spark.apache.org/v1"),
        ("spark.apache.org/v1beta1", "SparkCluster", "warning", "spark.apache.org/v1"),
        ("kafka.strimzi.io/v1beta2", "Kafka", "wrong", "kafka.strimzi.io/v1"),
    ],
)
def test_an_old_version_of_a_crd_is_named(tmp_path: Path, version: str, kind: str, state: str, new: str) -> None:
    (tmp_path / "a.yaml").write_text(f"apiVersion: v1\nkind: Secret\n---\napiVersion: {version}\nkind: {kind}\n")
    (finding,) = manifest_versions(tmp_path)
    assert (finding.state, f"{kind} has apiVersion {version}" in finding.message) == (state, True)
    assert f"write {new}," in finding.remedy


def test_versions_of_today_are_well_and_templates_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("apiVersion: spark.apache.org/v1\nkind: SparkApplication\n")
    assert [finding.state for finding in manifest_versions(tmp_path)] == ["well"]
    (tmp_path / "b.yaml").write_text("{{- if x }}\n")
    assert [finding.state for finding in manifest_versions(tmp_path)] == ["wrong"]
