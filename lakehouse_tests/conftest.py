"""Fixtures live in `lakehouse_tests/fixtures`, one module per real part."""

pytest_plugins = [
    "lakehouse_tests.fixtures.broker",
    "lakehouse_tests.fixtures.rest_catalog",
    "lakehouse_tests.fixtures.lakes",
    "lakehouse_tests.fixtures.spark",
]
