import fcntl
import hashlib
import io
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest
from rich.console import Console

from lakehouse.engines.jars import JarMismatch, fetch_jars, verified_jars
from lakehouse.settings import load_settings

CONF = Path(__file__).parents[2] / "conf"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "jars" / "some"
    folder.mkdir(parents=True)
    (folder / "b.jar").write_bytes(b"bee")
    (folder / "a.jar").write_bytes(b"ay")
    return folder


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    lock = tmp_path / "jars.sha256"
    pairs = (("b.jar", b"bee"), ("a.jar", b"ay"))
    lock.write_text("".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in pairs))
    return lock


def test_the_class_path_has_the_order_of_the_lock(lock: Path, folder: Path):
    assert verified_jars(lock, folder) == [folder / "b.jar", folder / "a.jar"]


@pytest.mark.parametrize("seen_before", [True, False])
def test_every_difference_is_named_at_once(lock: Path, folder: Path, seen_before: bool):
    (folder / "c.jar").write_bytes(b"uninvited")
    lock.write_text(lock.read_text() + f"{'0' * 64}  d.jar\n")
    if seen_before:
        with pytest.raises(JarMismatch):
            verified_jars(lock, folder)
    (folder / "a.jar").write_bytes(b"AY")
    with pytest.raises(JarMismatch) as caught:
        verified_jars(lock, folder)
    for part in ("d.jar is missing", "c.jar is not in the lock", "a.jar has another SHA-256", "lakehouse jars"):
        assert part in str(caught.value)


def test_a_file_changed_after_the_check_is_noticed_even_if_its_dates_are_put_back(lock: Path, folder: Path):
    verified_jars(lock, folder)
    before = (folder / "a.jar").stat()
    (folder / "a.jar").write_bytes(b"AY")
    os.utime(folder / "a.jar", ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(JarMismatch, match=r"a\.jar has another SHA-256"):
        verified_jars(lock, folder)


def test_a_changed_lock_is_noticed_though_the_files_were_checked_before(lock: Path, folder: Path):
    verified_jars(lock, folder)
    lock.write_text(lock.read_text().replace(hashlib.sha256(b"ay").hexdigest(), "f" * 64))
    with pytest.raises(JarMismatch, match=r"a\.jar"):
        verified_jars(lock, folder)


def test_files_that_were_checked_are_not_read_again(lock: Path, folder: Path, monkeypatch: pytest.MonkeyPatch):
    verified_jars(lock, folder)
    monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("read again"))
    verified_jars(lock, folder)


def test_a_lock_that_is_no_lock_is_refused(lock: Path, folder: Path):
    lock.write_text("a.jar\n")
    with pytest.raises(JarMismatch, match="no line of sha256sum"):
        verified_jars(lock, folder)
    with pytest.raises(JarMismatch, match="does not exist"):
        verified_jars(lock.with_name("none"), folder)


def test_the_locks_of_the_product_agree_with_what_was_fetched():
    jars = load_settings(CONF).state.jars
    assert any(
        jar.name.startswith("iceberg-spark-runtime")
        for jar in verified_jars(CONF / "jars" / "jars.sha256", jars / "spark")
    )
    assert any(
        jar.name.startswith("kafka_2.13") for jar in verified_jars(CONF / "broker" / "jars.sha256", jars / "broker")
    )


def maven(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    mvn = folder / "mvn"
    mvn.write_text(f"#!/bin/bash\nfor a; do case $a in -DoutputDirectory=*) out=${{a#*=}};; esac; done\n{script}\n")
    mvn.chmod(mvn.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_fetching_replaces_a_folder_that_is_wrong_and_shows_progress(
    tmp_path: Path, lock: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    maven(tmp_path / "bin", "mkdir -p $out; printf bee > $out/b.jar; printf ay > $out/a.jar", monkeypatch)
    (folder / "old.jar").write_bytes(b"of last year")
    shown = io.StringIO()
    assert fetch_jars(tmp_path / "pom.xml", folder, lock, console=Console(file=shown, width=100)) == [
        folder / "b.jar",
        folder / "a.jar",
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["a.jar", "b.jar"]
    assert "2/2" in shown.getvalue()


def test_of_two_that_want_a_folder_the_second_waits_and_takes_what_the_first_brought(
    tmp_path: Path, lock: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    maven(tmp_path / "bin", "exit 1", monkeypatch)  # nobody has to call it
    (folder / "a.jar").unlink()
    waiting, flock = threading.Event(), fcntl.flock

    def announced(handle: IO[str], operation: int) -> None:
        waiting.set()
        flock(handle, operation)

    with ThreadPoolExecutor() as second:
        with (folder.parent / f".{folder.name}.lock").open("a") as first:
            flock(first, fcntl.LOCK_EX)
            monkeypatch.setattr(fcntl, "flock", announced)
            fetched = second.submit(fetch_jars, tmp_path / "pom.xml", folder, lock)
            assert waiting.wait(60), "the second went on although the first is at work"
            (folder / "a.jar").write_bytes(b"ay")
        assert fetched.result() == [folder / "b.jar", folder / "a.jar"]


def test_what_maven_brings_is_checked_before_it_takes_the_place_of_anything(
    tmp_path: Path, lock: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    maven(tmp_path / "bin", "mkdir -p $out; printf bee > $out/b.jar; printf evil > $out/a.jar", monkeypatch)
    (folder / "b.jar").unlink()
    with pytest.raises(JarMismatch, match=r"a\.jar has another SHA-256"):
        fetch_jars(tmp_path / "pom.xml", folder, lock, console=Console(file=io.StringIO()))
    assert [path.name for path in folder.iterdir()] == ["a.jar"]


def test_jars_may_come_from_a_folder_that_holds_more(tmp_path: Path, lock: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))  # no Maven
    source, fetched = tmp_path / "source", tmp_path / "state" / "jars"
    (source / "deep").mkdir(parents=True)
    (source / "b.jar").write_bytes(b"bee")
    (source / "a.jar").write_bytes(b"of another version")
    (source / "deep" / "a.jar").write_bytes(b"ay")
    (source / "c.jar").write_bytes(b"for somebody else")
    assert fetch_jars(tmp_path / "pom.xml", fetched, lock, source=source) == [fetched / "b.jar", fetched / "a.jar"]
    assert sorted(path.name for path in fetched.iterdir()) == ["a.jar", "b.jar"]


def test_a_folder_that_does_not_hold_the_locked_jars_is_refused(tmp_path: Path, lock: Path):
    source, fetched = tmp_path / "source", tmp_path / "state" / "jars"
    source.mkdir()
    (source / "a.jar").write_bytes(b"evil")
    with pytest.raises(JarMismatch, match=r"b\.jar is missing; a\.jar has another SHA-256.*LAKEHOUSE_JARS"):
        fetch_jars(tmp_path / "pom.xml", fetched, lock, source=source)
    assert not fetched.exists()


@pytest.mark.parametrize(
    "record", ["{", "[]", "3", "null", '{"a.jar": 3}', '{"a.jar": []}', '{"a.jar": {}}', "\x00", ""]
)
def test_a_damaged_record_of_what_was_checked_counts_for_nothing(lock: Path, folder: Path, record: str):
    path = folder.parent / "some.verified.json"
    path.write_text(record)
    assert verified_jars(lock, folder) == [folder / "b.jar", folder / "a.jar"]
    written = path.read_bytes()
    assert b"a.jar" in written
    verified_jars(lock, folder)
    assert path.read_bytes() == written


def test_where_no_record_can_be_kept_all_is_checked_each_time(lock: Path, folder: Path):
    (folder.parent / "some.verified.json").mkdir()
    before = sorted(folder.parent.iterdir())
    assert verified_jars(lock, folder) == [folder / "b.jar", folder / "a.jar"]
    assert sorted(folder.parent.iterdir()) == before


def test_a_jar_that_is_no_file_is_named(lock: Path, folder: Path):
    for name in ("a.jar", "b.jar"):
        (folder / name).unlink()
    (folder / "a.jar").mkdir()
    (folder / "b.jar").symlink_to("nowhere")
    with pytest.raises(JarMismatch, match=r"a\.jar is no file; b\.jar is no file"):
        verified_jars(lock, folder)


@pytest.mark.parametrize("kind", ["a file", "a symbolic link", "a symbolic link to nowhere"])
def test_what_is_no_folder_of_ours_is_not_replaced(
    tmp_path: Path, lock: Path, folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch
):
    maven(tmp_path / "bin", "exit 1", monkeypatch)  # nobody has to call it
    place = folder.parent / "other"
    if kind == "a file":
        place.touch()
    else:
        place.symlink_to(folder if kind == "a symbolic link" else "nowhere")
        (folder / "a.jar").unlink()
    with pytest.raises(JarMismatch, match=f"other is {kind[:15].strip()}.*Remedy: remove it"):
        fetch_jars(tmp_path / "pom.xml", place, lock)


def test_a_link_to_a_folder_of_the_locked_jars_is_used(tmp_path: Path, lock: Path, folder: Path):
    place = folder.parent / "other"
    place.symlink_to(folder)
    assert fetch_jars(tmp_path / "pom.xml", place, lock) == [place / "b.jar", place / "a.jar"]


def test_what_killed_fetches_have_left_is_removed_and_that_of_others_is_not(
    tmp_path: Path, lock: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    maven(tmp_path / "bin", "mkdir -p $out; printf bee > $out/b.jar; printf ay > $out/a.jar", monkeypatch)
    (folder / "a.jar").unlink()
    for name in (".some-abc_1234", ".some-other-abc_1234", ".another-abc_1234"):
        (folder.parent / name / "some").mkdir(parents=True)
        (folder.parent / name / "some" / "b.jar").write_bytes(b"be")
    fetch_jars(tmp_path / "pom.xml", folder, lock, console=Console(file=io.StringIO()))
    assert sorted(path.name for path in folder.parent.glob(".*-*")) == [".another-abc_1234", ".some-other-abc_1234"]
