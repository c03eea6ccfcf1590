"""Decimals as Debezium writes them by default: Base64 of the unscaled number, big-endian, in two's complement.

A column without a scale of its own comes as `{"scale": …, "value": …}`. The usual case is read a column at a time,
everything else one by one.
"""

import base64
import binascii

import msgspec
import numpy as np
import pyarrow as pa

from lakehouse.formats.changes.facts import Bools, Ints
from lakehouse.formats.json.text import Parsed, Refused

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PAD, _WRONG = 64, 255
_CODES = np.full(256, _WRONG, np.uint8)
_CODES[np.frombuffer(_LETTERS, np.uint8)] = np.arange(64)
_CODES[ord("=")] = _PAD
_QUOTE = ord('"')
_WIDTH = 16


class _Variable(msgspec.Struct):
    scale: int
    value: str


def base64_decimals(text: pa.StringArray, target: pa.Decimal128Type, scale: int | None) -> Parsed:
    """Reads the JSON of decimals.

    Args:
        text: the JSON.
        target: the declared type.
        scale: that of the numbers in Base64; None: only decimals that tell their scale are expected.

    Returns:
        The decimals, null where they are refused, and the refusals.
    """
    count = len(text)
    numbers = np.zeros((count, _WIDTH), np.uint8)  # little-endian, as Arrow has them
    present = text.is_valid().to_numpy(zero_copy_only=False)
    usual = _usual(text, present, numbers) if scale == target.scale else np.zeros(count, np.bool_)
    wrong: list[int] = []
    beyond: list[int] = []
    for row in np.flatnonzero(present & ~usual).tolist():
        number = _unscaled(text[row].as_py(), target, scale)
        if isinstance(number, str):
            (wrong if number == "wrong" else beyond).append(row)
        else:
            numbers[row] = np.frombuffer(number.to_bytes(_WIDTH, "little", signed=True), np.uint8)
    fits = _fits(numbers, target.precision)
    beyond.extend(np.flatnonzero(present & ~fits).tolist())
    valid = present & fits
    valid[wrong + beyond] = False
    buffers = [pa.py_buffer(np.packbits(valid, bitorder="little")), pa.py_buffer(numbers)]
    refused: list[Refused] = []
    if wrong:
        refused.append(Refused(np.array(wrong), "wrong_type", "expected a decimal in Base64"))
    if beyond:
        complaint = f"the number does not fit {target.precision} digits with {target.scale} decimals"
        refused.append(Refused(np.array(sorted(beyond)), "out_of_range", complaint))
    return pa.Array.from_buffers(target, count, buffers), refused


def _usual(text: pa.StringArray, present: Bools, numbers: np.ndarray) -> Bools:
    """Fills in what is plain, padded Base64 of at most 16 bytes, and tells which rows those are."""
    count = len(text)
    usual = np.zeros(count, np.bool_)
    if not present.any():
        return usual
    validity, offsets_buffer, data_buffer = text.buffers()
    del validity
    offsets = np.frombuffer(offsets_buffer, np.int32)[text.offset : text.offset + count + 1].astype(np.int64)
    data = np.frombuffer(data_buffer, np.uint8)
    lengths = np.diff(offsets) - 2  # without its quotes
    rows = np.flatnonzero(present & (lengths >= 4) & (lengths % 4 == 0) & (lengths <= 24))
    rows = rows[(data[offsets[rows]] == _QUOTE) & (data[offsets[rows + 1] - 1] == _QUOTE)]
    for length in np.unique(lengths[rows]).tolist():
        same_length = rows[lengths[rows] == length]
        codes = _CODES[data[offsets[same_length][:, None] + 1 + np.arange(length)]]
        pads = (codes[:, -1] == _PAD).astype(np.int64) + ((codes[:, -1] == _PAD) & (codes[:, -2] == _PAD))
        good = (codes != _WRONG).all(axis=1) & ((codes == _PAD).sum(axis=1) == pads)
        octets = _octets(codes)
        for pad in (0, 1, 2):
            size = length // 4 * 3 - pad
            padded = good & (pads == pad)
            if size <= _WIDTH and padded.any():
                numbers[same_length[padded]] = _widened(octets[padded, :size])
                usual[same_length[padded]] = True
    return usual


def _octets(codes: np.ndarray) -> np.ndarray:
    """Rows of Base64 digits to rows of bytes; padding counts as zero."""
    quads = np.where(codes == _PAD, 0, codes).reshape(len(codes), -1, 4)
    a, b, c, d = (quads[:, :, i] for i in range(4))
    octets = np.stack(((a << 2) | (b >> 4), (b << 4) | (c >> 2), (c << 6) | d), axis=2)
    return octets.astype(np.uint8).reshape(len(codes), -1)


def _widened(octets: np.ndarray) -> np.ndarray:
    """Big-endian bytes to 16 little-endian ones of the same number."""
    wide = np.repeat(np.where(octets[:, :1] & 0x80, 0xFF, 0).astype(np.uint8), _WIDTH, axis=1)
    wide[:, : octets.shape[1]] = octets[:, ::-1]
    return wide


def _fits(numbers: np.ndarray, precision: int) -> Bools:
    """Whether each is below 10 to the precision, without its sign."""
    low = numbers.view("<u8").reshape(-1, 2)[:, 0]
    high: Ints = numbers.view("<i8").reshape(-1, 2)[:, 1]
    return _below(high, low, 10**precision) & ~_below(high, low, 1 - 10**precision)


def _below(high: Ints, low: np.ndarray, bound: int) -> Bools:
    top, rest = bound >> 64, bound & (2**64 - 1)
    return (high < top) | ((high == top) & (low < np.uint64(rest)))


def _unscaled(text: str, target: pa.Decimal128Type, own: int | None) -> int | str:
    """The unscaled number of any JSON value, or "wrong" or "beyond"."""
    try:
        if text.startswith('"'):
            if own is None:
                return "wrong"
            octets, scale = base64.b64decode(msgspec.json.decode(text, type=str), validate=True), own
        else:
            variable = msgspec.json.decode(text, type=_Variable)
            octets, scale = base64.b64decode(variable.value, validate=True), variable.scale
    except (msgspec.DecodeError, binascii.Error, ValueError):
        return "wrong"
    if not octets:
        return "wrong"
    number = int.from_bytes(octets, "big", signed=True)
    if abs(scale) > 10_000:
        return "beyond" if number else 0
    if scale <= target.scale:
        number *= 10 ** (target.scale - scale)
    else:
        number, rest = divmod(number, 10 ** (scale - target.scale))
        if rest:
            return "beyond"
    return number if abs(number) < 10**target.precision else "beyond"
