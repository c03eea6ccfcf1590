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


def test_what_cannot_be_read_is_named_and_the_others_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "deep.yaml").write_text("[" * 100_000)
    (tmp_path / "date.yaml").write_text("day: 2024-99-99\n")
    (tmp_path / "dangling.yaml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "folder.yaml" / "old.yaml").write_text("apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\n")
    findings = list(manifest_versions(tmp_path))
    assert [finding.state for finding in findings] == ["wrong"] * 4
    names = ("dangling.yaml cannot be read", "date.yaml is no YAML", "deep.yaml is no YAML", "old.yaml: Kafka has")
    assert all(name in finding.message for name, finding in zip(names, findings, strict=True))


def test_a_folder_that_is_none_and_one_without_manifests_are_not_well(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "nosuch", tmp_path / "file"):
        (finding,) = manifest_versions(folder)
        assert (finding.state, str(folder) in finding.message) == ("wrong", True)
    assert [finding.state for finding in manifest_versions(tmp_path)] == ["not asked"]
