r"""When a converted value is the same as its original: one definition for each pair of types.

================  ====================================================================================================
null              is the same as null, and as nothing else
whole numbers,    the same number, in whatever spelling and scale: `1.5` is `1.50` and `15e-1`, `-0` is `0`; `007` is no
decimals          number but a code, and is never the same as 7
floats            as above with the number that the float stands for; beside that, a text that can have come from a
                  float is the same if it is read as this very float: one with a fraction or exponent and at most 17
                  digits, any other with at most 15 (of a 32-bit float 9 and 6). So `0.1` is the same, and
                  `9007199254740993`, which no float holds, is not. Between floats of two widths: exactly the same
                  number, so 0.1 in 64 bits is not 0.1 in 32. NaN is NaN
instants          the same moment: `05:00-05:00` is `10:00Z`; a text without zone is taken for UTC, as everywhere in the
                  house; digits beyond the microsecond are a difference if they are not zero
wall times        the same reading of the clock, whatever zone stands behind it in a text
dates             the same day; a time of day other than midnight has been cut off, and is a difference
truth values      the same; texts are read as Spark reads them (`true`, `t`, `yes`, `1`)
text              letter by letter
================  ====================================================================================================

An instant and a wall time are never compared: that takes a zone, and guessing it is the error that one looks for.
"""

from dataclasses import dataclass

import pyspark.sql.types as spark
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as sql

from lakehouse.declarations import Kind, kind_of

_NUMBER = r"^([+-]?)([0-9]*)[.]?([0-9]*)(?:[eE]([+-]?[0-9]{1,6}))?$"
_CODE = "^0[0-9]"
_DAY = r"^[+-]?[0-9]{4,6}-[0-9]{2}-[0-9]{2}"
_MIDNIGHT = _DAY + r"(?:[T ]00:00(?::00(?:[.]0*)?)?(?: ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?))?)?$"
_BEYOND_MICROSECONDS = r"[.][0-9]{6}[0-9]*[1-9]"
_DIGITS: dict[type[spark.DataType], tuple[int, int]] = {spark.DoubleType: (17, 15), spark.FloatType: (9, 6)}


@dataclass(frozen=True)
class TypedValue:
    """One of two values that are compared: an expression that is not null, and its declared type."""

    value: SparkColumn
    type: spark.DataType

    @property
    def kind(self) -> Kind | None:
        """What the value is."""
        return kind_of(self.type)

    @property
    def is_float(self) -> bool:
        """Whether it is a binary float."""
        return isinstance(self.type, spark.DoubleType | spark.FloatType)


def same(left: TypedValue, right: TypedValue) -> SparkColumn:
    """Whether two values, none of them null, are the same; never null itself.

    Raises:
        ValueError: the kinds cannot be compared; declarations are refused before this.
    """
    return sql.coalesce(_same(left, right), sql.lit(False))


def _same(left: TypedValue, right: TypedValue) -> SparkColumn:
    if left.kind == right.kind:
        return _same_number(left, right) if left.kind == "number" else left.value == right.value
    text, other = (left, right) if left.kind == "text" else (right, left)
    if text.kind != "text":
        raise ValueError(f"{left.type.simpleString()} cannot be compared with {right.type.simpleString()}.")
    words = sql.trim(text.value)
    match other.kind:
        case "number":
            return _reads_as_number(words, other)
        case "date":
            return words.rlike(_MIDNIGHT) & (sql.substring(words, 1, 10).try_cast("date") == other.value)
        case "instant":
            exact = words.rlike(_DAY) & ~words.rlike(_BEYOND_MICROSECONDS)
            return exact & (words.try_cast("timestamp") == other.value)
        case "wall_time":
            exact = words.rlike(_DAY) & ~words.rlike(_BEYOND_MICROSECONDS)
            return exact & (words.try_cast("timestamp_ntz") == other.value)
        case _:
            return words.try_cast("boolean") == other.value


def _same_number(left: TypedValue, right: TypedValue) -> SparkColumn:
    if left.is_float and right.is_float:
        return left.value.cast("double") == right.value.cast("double")
    if left.is_float or right.is_float:
        floating, exact = (left, right) if left.is_float else (right, left)
        return _reads_as_number(_text(exact), floating)
    return canonical(_text(left)) == canonical(_text(right))


def _reads_as_number(words: SparkColumn, number: TypedValue) -> SparkColumn:
    exactly = canonical(words) == canonical(_text(number))
    if not number.is_float:
        return exactly
    of_float, of_any = _DIGITS[type(number.type)]
    like_float = words.rlike("[eE]") | (_power(words) < 0)
    short = _digits(words) <= sql.when(like_float, of_float).otherwise(of_any)
    read_back = canonical(words).isNotNull() & short & (words.try_cast(number.type) == number.value)
    odd = words.try_cast("double") == number.value.cast("double")
    is_odd = sql.isnan(number.value) | (sql.abs(number.value) == float("inf"))
    return sql.when(is_odd, odd & ~words.rlike("[0-9]")).otherwise(_yes(exactly) | _yes(read_back))


def _text(number: TypedValue) -> SparkColumn:
    """A number in digits; a whole float by all of its digits, which its own text cuts after the seventeenth."""
    if not number.is_float:
        return number.value.cast("string")
    value = number.value.cast("double")
    whole = (value == sql.floor(value)) & (sql.abs(value) < 2.0**63)
    return sql.when(whole, value.try_cast("bigint").cast("string")).otherwise(number.value.cast("string"))


def canonical(words: SparkColumn) -> SparkColumn:
    """One spelling for each number: digits without zeros at the ends, and a power of ten; null for what is none."""
    whole, fraction = sql.regexp_extract(words, _NUMBER, 2), sql.regexp_extract(words, _NUMBER, 3)
    fits = words.rlike(_NUMBER) & (sql.length(sql.concat(whole, fraction)) > 0) & ~whole.rlike(_CODE)
    digits = _significant(words)
    sign = sql.when(sql.regexp_extract(words, _NUMBER, 1) == "-", "-").otherwise("")
    spelt = sql.when(digits == "", "0").otherwise(sql.concat(sign, digits, sql.lit("e"), _power(words).cast("string")))
    return sql.when(fits, spelt)


def _significant(words: SparkColumn) -> SparkColumn:
    digits = sql.concat(sql.regexp_extract(words, _NUMBER, 2), sql.regexp_extract(words, _NUMBER, 3))
    return sql.regexp_replace(sql.regexp_replace(digits, "0+$", ""), "^0+", "")


def _digits(words: SparkColumn) -> SparkColumn:
    return sql.length(_significant(words))


def _power(words: SparkColumn) -> SparkColumn:
    """The power of ten that the significant digits, as a whole number, are multiplied by."""
    whole, fraction = sql.regexp_extract(words, _NUMBER, 2), sql.regexp_extract(words, _NUMBER, 3)
    zeros = sql.length(sql.regexp_extract(sql.concat(whole, fraction), "(0*)$", 1))
    exponent = sql.coalesce(sql.regexp_extract(words, _NUMBER, 4).try_cast("int"), sql.lit(0))
    return exponent - sql.length(fraction) + zeros


def _yes(condition: SparkColumn) -> SparkColumn:
    return sql.coalesce(condition, sql.lit(False))
