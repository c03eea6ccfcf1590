"""Keeps what Spark's exceptions say beyond the end of the JVM, which they would ask for their text each time."""

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException


def keep_texts(error: BaseException) -> None:
    """Give an exception of Spark's, and those behind it, their text for good. Their types stay what they are."""
    pending: list[BaseException] = [error]
    seen: set[int] = set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        pending += [cause for cause in (current.__cause__, current.__context__) if cause is not None]
        if isinstance(current, (CapturedException, Py4JJavaError)):
            _keep(current)


def _keep(error: BaseException) -> None:
    kind = type(error)
    try:
        text = str(error)
    except (Py4JError, AssertionError):  # PySpark asserts that it still has a JVM
        text = "Spark's JVM ended before it could say more; see its log."
    namespace = {"__str__": lambda _: text, "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    error.__class__ = type(kind.__name__, (kind,), namespace)
