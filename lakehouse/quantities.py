"""How many of what, as a person writes it."""


def quantity(count: int, noun: str, plural: str = "") -> str:
    """`1 row`, `1,095 rows`; of nouns that take more than an s, the plural is given."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
