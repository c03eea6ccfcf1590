"""A platform's service: exactly one, with what it needs, and refused with file and key where it is not."""

from pathlib import Path

import pytest

from lakehouse.settings import SettingsError, load_settings

KUBERNETES = "kubernetes: {image: i}\n"
MESSAGES = "messages: s3://bucket/steps\n"
EMR = "emr_serverless: {application: 00f, role: 'arn:aws:iam::123456789012:role/r', program: s3://b/p, archive: s3://b/a}\n"


def loaded(folder: Path, text: str) -> object:
    """Settings whose platform is this text."""
    (folder / "platforms").mkdir(parents=True, exist_ok=True)
    (folder / "lakehouse.yaml").write_text("platform: mine\ncatalog: local\nkafka: local\n")
    for kind in ("catalogs", "kafka"):
        if not (folder / kind).exists():
            (folder / kind).symlink_to(Path(__file__).parents[3] / "conf" / kind)
    (folder / "platforms" / "mine.yaml").write_text(text)
    return load_settings(folder, {}).platform


def test_what_is_whole_is_taken(tmp_path: Path) -> None:
    for section in (KUBERNETES, EMR, "glue: {job: lakehouse step, conf: /tmp/conf}\n"):
        loaded(tmp_path, f"mode: submit\n{MESSAGES}{section}")
    loaded(tmp_path, f"mode: driver\n{MESSAGES}{KUBERNETES}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"mode: submit\n{KUBERNETES}", "needs the key messages"),
        (f"mode: submit\nmaster: local[1]\n{MESSAGES}{KUBERNETES}", "takes one of master, kubernetes"),
        (f"mode: submit\n{MESSAGES}{KUBERNETES}{EMR}", "takes one of master, kubernetes"),
        (f"mode: classic\nmaster: local[1]\n{KUBERNETES}", "takes one of master, kubernetes"),
        (f"mode: submit\n{MESSAGES}kubernetes: {{image: i, namespace: Lake House}}\n", "kubernetes.namespace"),
        (f"mode: submit\n{MESSAGES}{EMR.replace('arn:', 'urn:')}", "emr_serverless.role"),
        (f"mode: submit\n{MESSAGES}glue: {{job: j, conf: c, number_of_workers: 1}}\n", "glue.number_of_workers"),
        ("mode: submit\nmaster: k8s://https://host\n", "section kubernetes"),
    ],
)
def test_what_is_not_is_refused_with_its_key(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SettingsError, match=problem) as caught:
        loaded(tmp_path, text)
    assert "mine.yaml" in str(caught.value)
