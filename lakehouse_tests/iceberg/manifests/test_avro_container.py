"""A manifest that was cut is refused wherever it was cut, before anything decodes it."""

from pathlib import Path

import pytest

from lakehouse.iceberg.manifests.avro_container import require_whole
from lakehouse.iceberg.manifests.entry_reader import live_paths, manifests_in
from lakehouse_tests.fixtures.lakes import Lake


def test_a_manifest_is_whole_or_refused_in_the_same_words_each_time(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1, 2])
    table = sql_lake.load(name)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    (manifest,) = manifests_in(table.io, snapshot.manifest_list)
    file = Path(manifest.manifest_path.removeprefix("file://"))
    whole = file.read_bytes()
    require_whole(whole)
    marker = whole[-16:]
    # Right behind the header a file may end: it has no rows.
    ends = {len(whole), whole.index(marker) + 16}
    for length in set(range(len(whole))) - ends:
        with pytest.raises((EOFError, ValueError)):
            require_whole(whole[:length])
    file.write_bytes(whole[:-40])
    words = set[str]()
    for _ in range(2):
        with pytest.raises(EOFError) as refused:
            list(live_paths(table.io, manifest.manifest_path))
        words.add(str(refused.value))
    assert words == {f"it ends at byte {len(whole) - 40:,}, and is not whole"}


def test_bytes_that_are_no_avro_or_were_put_together_wrongly_are_refused() -> None:
    header = b"Obj\x01" + b"\x00" + b"m" * 16
    require_whole(header)
    require_whole(header + b"\x02" + b"\x06abc" + b"m" * 16)
    with pytest.raises(ValueError, match="no Avro file"):
        require_whole(b"PAR1")
    with pytest.raises(ValueError, match="no block ends at byte 26"):
        require_whole(header + b"\x02" + b"\x06abc" + b"x" * 16)
