"""The patterns that Arrow judges by RE2, written for Java, which Spark asks."""

from lakehouse.quality.onepass.regex.translation import NotForJava, java_pattern

__all__ = ["NotForJava", "java_pattern"]
