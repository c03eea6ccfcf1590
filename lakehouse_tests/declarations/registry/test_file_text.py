"""A file that cannot be run still shows which tables and topics are its own."""

from pathlib import Path

from lakehouse.declarations.registry.file_text import text_of


def test_names_that_are_written_are_read(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(
        "t = Table(name='raw.a', owner=\n_ = Derived(inputs={'x': \"raw.b\"})\n c(topic='shop', stream = 's')"
    )
    text = text_of(file)
    assert (text.named, text.mentioned, text.topics) == ({"raw.a"}, {"raw.a", "raw.b"}, {"shop", "s"})
    assert (text.has_stream, text.has_changelog) == (False, False)
    assert not text.may_fill("raw.a"), "it speaks of no stream"


def test_what_is_not_written_may_be_anything(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("Stream(name=NAME, topic=TOPIC)\nChangelog(name=NAME, topic=TOPIC)")
    text = text_of(file)
    assert text.may_fill("raw.a")
    assert text.may_share("shop", "topic")
    file.write_text("Stream(route=ToTable('raw.a'), topic='other')\nChangelog()")
    text = text_of(file)
    assert (text.may_fill("raw.a"), text.may_fill("raw.b")) == (True, False)
    assert (text.may_share("shop", "topic"), text.may_share("shop", "other")) == (False, True)
    assert text_of(tmp_path / "gone.py").may_fill("raw.a")
