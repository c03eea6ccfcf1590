"""Fixtures live in `lakehouse_tests/fixtures`, one module per real part."""

import signal

# A shell starts background jobs with SIGINT ignored, and every process that we start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = [
    "lakehouse_tests.fixtures.broker",
    "lakehouse_tests.fixtures.rest_catalog",
    "lakehouse_tests.fixtures.lakes",
    "lakehouse_tests.fixtures.spark",
    "lakehouse_tests.fixtures.postgres",
    "lakehouse_tests.fixtures.debezium",
]
