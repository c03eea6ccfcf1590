"""A file that nobody could read to its end is one error, that names the file and shows nothing of it."""

from pathlib import Path

import pytest

from lakehouse.settings import SettingsError
from lakehouse.settings.document import read_document

DOUBLING = "\n".join(
    ["a0: &a0 [hunter2]", *(f"a{level}: &a{level} [*a{level - 1}, *a{level - 1}]" for level in range(1, 40))]
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: " + "[" * 5000, "keys and lists go too deep"),
        ("a: " + "[" * 200 + "]" * 200, "keys and lists go too deep"),
        ("a: " + "{a: " * 900 + "hunter2" + "}" * 900, "keys and lists go too deep"),
        ("a: &a {hunter2: *a}", "an anchor contains itself"),
        ("a: &a [hunter2, *a]", "an anchor contains itself"),
        (DOUBLING, "keys and lists go too deep"),
        ("a: !!bool hunter2", "not YAML"),
        ("a: !!timestamp hunter2", "not YAML"),
        ("a: !!int ''", "not YAML"),
    ],
)
def test_what_cannot_be_read_to_its_end_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=problem) as refused:
        read_document(file)
    assert str(refused.value).startswith(str(file))
    assert "hunter2" not in str(refused.value)
    assert refused.value.__context__ is None


def test_an_anchor_may_be_used_again(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: &a {b: [1]}\nc: *a\n")
    assert read_document(tmp_path / "x.yaml").content == {"a": {"b": [1]}, "c": {"b": [1]}}
