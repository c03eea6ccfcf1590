"""A pattern finds in Spark what it finds in Arrow, or is refused by name."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from lakehouse.quality.onepass.regex import NotForJava, java_pattern

TEXTS = [
    *[
        "",
        "a",
        "A",
        "k",
        "K",
        "\u212a",
        "s",
        "S",
        "ſ",
        "é",
        "É",
        "ab",
        "aab",
        "abc",
        "ba",
        "1",
        "12",
        "a1",
        "_",
        "-",
        "]",
        "[",
    ],
    *[
        "\n",
        "a\n",
        "\na",
        "a\nb",
        "\r",
        "a\r\n",
        "\x0b",
        "\x0c",
        "\t",
        " ",
        "\x85",
        "\u2028",
        "\u00a0",
        "\x00",
        "\x7f",
        "😀",
    ],
    *[
        "😀a",
        "a😀",
        "x{,2}",
        "{",
        "}",
        "a-b",
        "a.b",
        "\\",
        "^",
        "$",
        "(",
        "|",
        "+a",
        "aéb",
        "Éa",
        "a&b",
        "&",
        "word word",
    ],
]
# What the two understand differently, or only one of them, above all.
LISTED = r"""
a a|b ^a|b$ \Aa\z . ^.$ \s ^\s$ ^\S$ \w ^\W$ \d \D \bword\b \ba
[[:space:]] [[:^alpha:]] [[:word:]] ^[[:punct:]]$ []a] [^]a] [a-] [-a] [a-b-c] [[a] [&&a]
(?i)k (?i)s (?i)[a-k] (?i)\w (?i)[^k] (?i)[[:lower:]] (?i:a)b a(?i)b|A (?i)^[^\W]$ (?i)K(?-i)s
(?m)^a$ (?m)^$ (?m)$a (?m)a$ ^$ a$ (?s). (?s)^.$ (?s)a.b (?-s)a.b (?U)a+b (?ms-i)^.$
a{2} ^a{2,}b a{0} x{,2} { } a{1,2}?b (a|b)*c (|a)*b (a*)*b ^(a|ab)(c|bcd)?$ () | ^*a \b+a
\x61 \x{1F600} ^\x{1F600}$ \141 \07 \Qa.b\E \Q\E \. \- \_ \\ \^ [\^] [\]]
é ^é$ [é-ü] [^é] [^\x{10000}-\x{10FFFF}] ^[^a]$ (?P<n>a)(?<m>b) [\d\-a] [^\d\s] \a \v \f
\z a\z \n\z $ ^ (?m)\z (?:a(?:b(?:c))) \+? a*? a+? a??b
"""
PATTERNS = ["", *LISTED.split()]
PIECES = r"a b é . ^ $ \d \w \S \b [ab] [^a] [^\w] [[:space:]] \n 1 😀 (?i:k) (?m:^) (?s:.)"
ATOMS = st.sampled_from(PIECES.split())
RANDOM = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join),
        inner.map(lambda one: f"({one})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}", "*?"])).map(lambda two: f"(?:{two[0]}){two[1]}"),
        st.tuples(inner, st.sampled_from(["i", "m", "s", "ms"])).map(lambda two: f"(?{two[1]}:{two[0]})"),
    ),
    max_leaves=6,
)


def disagreements(spark: SparkSession, patterns: list[str]) -> list[tuple[str, str]]:
    """Pattern and text of which Arrow and Spark think differently; all patterns in one query."""
    texts = pa.array(TEXTS)
    asked = [(pattern, java) for pattern in patterns if (java := translated(pattern)) is not None]
    frame = spark.createDataFrame(pa.table({"t": texts}))
    got = frame.select([f.col("t").rlike(java).alias(str(n)) for n, (_, java) in enumerate(asked)]).toArrow()
    return [
        (pattern, text)
        for n, (pattern, _) in enumerate(asked)
        for text, here, there in zip(
            TEXTS, pc.match_substring_regex(texts, pattern).to_pylist(), got[str(n)].to_pylist(), strict=True
        )
        if here is not there
    ]


def translated(pattern: str) -> str | None:
    try:
        return java_pattern(pattern)
    except NotForJava:
        return None


@pytest.mark.spark
def test_known_differences_are_bridged(either_session: SparkSession) -> None:
    assert [pattern for pattern in PATTERNS if translated(pattern) is None] == []
    assert disagreements(either_session, PATTERNS) == []


@pytest.mark.spark
@settings(
    max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(patterns=st.lists(RANDOM, min_size=20, max_size=40))
def test_random_patterns_find_the_same(either_session: SparkSession, patterns: list[str]) -> None:
    assert disagreements(either_session, patterns) == []


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        (r"\pL", r"\p"),
        (r"[\p{Greek}]", r"\p"),
        (r"a\B", r"\B"),
        (r"\C", r"\C"),
        ("(?i)É", "beyond ASCII"),
        ("(?i)[a-é]", "beyond"),
    ],
)
def test_what_java_cannot_say_exactly_is_refused_by_name(pattern: str, what: str) -> None:
    pc.match_substring_regex(pa.array([""]), pattern)  # which RE2 does understand
    with pytest.raises(NotForJava) as refused:
        java_pattern(pattern)
    assert what in str(refused.value)
