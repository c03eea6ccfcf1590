"""Headers arrive as they were sent, with nulls and bytes of any kind."""

from lakehouse.formats.headers import Header, read_headers, write_headers


def test_headers_travel_as_json() -> None:
    headers = [Header("a", b"\x00\xff"), Header("a", None), Header("é", b"")]
    assert read_headers(write_headers(headers)) == headers
