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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: {platform: 1, platform: 2}", "line 1: key platform is given twice"),
        ("? hunter 2\n? hunter 2\n", "line 2: a key is given twice"),
    ],
)
def test_a_key_that_is_given_twice_is_named_if_it_is_a_name(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(SettingsError, match=problem) as refused:
        read_document(tmp_path / "x.yaml")
    assert "hunter" not in str(refused.value)


def test_an_unknown_key_is_met_with_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("platfrom: local\n")
    with pytest.raises(SettingsError, match=r"key platfrom: .* did you mean platform\? Otherwise use"):
        read_document(tmp_path / "x.yaml").refuse_unknown({"platform", "home"})


@pytest.mark.parametrize(
    ("content", "problem"), [(b"\xff", "it is not UTF-8. Remedy: save it as UTF-8"), (None, "Is a directory. Remedy")]
)
def test_what_is_no_text_is_said(tmp_path: Path, content: bytes | None, problem: str) -> None:
    file = tmp_path / "x.yaml"
    file.mkdir() if content is None else file.write_bytes(content)
    with pytest.raises(SettingsError, match=f"Cannot read {file}: {problem}"):
        read_document(file)
