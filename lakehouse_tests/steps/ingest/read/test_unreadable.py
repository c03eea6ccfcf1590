"""Why offsets cannot be read, in words that hold no value of a record."""

from lakehouse.steps.ingest.read.unreadable import cause_of
from lakehouse_tests.steps.ingest.read.test_readable import OVERFLOW


def test_a_cause_quotes_no_value() -> None:
    worker = RuntimeError(
        "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
        "  File \"worker.py\", line 3, in take\nOSError: [Errno 36] File name too long: 'secret=Müller'\n"
    )
    assert cause_of(worker) == "OSError"
    assert cause_of(ValueError("secret")) == "ValueError"
    assert cause_of(ValueError(OVERFLOW)) == "ArithmeticException: long overflow"
