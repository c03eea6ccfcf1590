"""Is an Avro file whole? PyIceberg's compiled decoder does not look where its bytes end.

Of a manifest that was cut it reads on in memory that is not its own: garbage, another one at each try, or the end of
the process. So the frame is looked at first, as "Object Container Files" of the Avro specification describes it: the
header with its sync marker, then blocks, each with its size and the marker again.
"""

_MAGIC = b"Obj\x01"
_MARKER = 16  # bytes


def require_whole(data: bytes) -> None:
    """Look at the frame of an Avro file, not at what is in its blocks.

    Raises:
        EOFError: it ends before its frame says.
        ValueError: it is no Avro file, or a block does not end in the marker.
    """
    if not data.startswith(_MAGIC):
        raise ValueError("it is no Avro file")
    offset = _skip_metadata(data, len(_MAGIC))
    marker, offset = data[offset : offset + _MARKER], _skip(data, offset, _MARKER)
    while offset < len(data):
        _, offset = _long(data, offset)  # rows of the block
        size, offset = _long(data, offset)
        offset = _skip(data, offset, size)
        if not data.startswith(marker, offset):
            raise ValueError(f"no block ends at byte {offset:,}")
        offset = _skip(data, offset, _MARKER)


def _skip_metadata(data: bytes, offset: int) -> int:
    """A map of text to bytes, in blocks; where the count of a block is negative, its size follows."""
    count, offset = _long(data, offset)
    while count:
        if count < 0:
            _, offset = _long(data, offset)
        for _ in range(2 * abs(count)):
            size, offset = _long(data, offset)
            offset = _skip(data, offset, size)
        count, offset = _long(data, offset)
    return offset


def _skip(data: bytes, offset: int, size: int) -> int:
    if not 0 <= size <= len(data) - offset:
        raise EOFError(f"it ends at byte {len(data):,}, and is not whole")
    return offset + size


def _long(data: bytes, offset: int) -> tuple[int, int]:
    """A number of variable length, zigzag, and the offset behind it."""
    number, shift = 0, 0
    while True:
        behind = _skip(data, offset, 1)
        number |= (data[offset] & 0x7F) << shift
        if data[offset] < 0x80:
            return (number >> 1) ^ -(number & 1), behind
        offset, shift = behind, shift + 7
