"""Which message of its schema a record is, as the frames say it in front of the message."""

MOST = 64
"""Messages are not nested deeper."""


def confluent_indexes(data: bytes, start: int = 0) -> tuple[tuple[int, ...], int] | None:
    """Confluent's list of indexes: how many, then each, as zig-zag numbers; a single 0 stands for the first message.

    Returns:
        The indexes, and where the message begins; nothing where that is no such list.
    """
    if data[start : start + 1] == b"\x00":
        return (0,), start + 1
    count, position = _zig_zag(data, start)
    if not 0 < count <= MOST:
        return None
    indexes: list[int] = []
    for _ in range(count):
        index, position = _zig_zag(data, position)
        if index < 0:
            return None
        indexes.append(index)
    return tuple(indexes), position


def glue_rank(data: bytes, start: int = 0) -> tuple[int, int] | None:
    """Glue's single number, and where the message begins; nothing where that is no such number."""
    rank, position = _number(data, start)
    return (rank, position) if rank >= 0 else None


def write_confluent_indexes(indexes: tuple[int, ...]) -> bytes:
    """The bytes of a list of indexes."""
    if indexes == (0,):
        return b"\x00"
    return b"".join(_written(2 * number) for number in (len(indexes), *indexes))


def write_glue_rank(rank: int) -> bytes:
    """The bytes of Glue's number."""
    return _written(rank)


def _zig_zag(data: bytes, start: int) -> tuple[int, int]:
    number, position = _number(data, start)
    return (-1, position) if number < 0 or number & 1 else (number >> 1, position)


def _number(data: bytes, start: int) -> tuple[int, int]:
    """A number of up to five bytes, and what is behind it; -1 where there is none."""
    number = 0
    for place, byte in enumerate(data[start : start + 5]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, start + place + 1
    return -1, start


def _written(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
