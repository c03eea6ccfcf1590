"""Debezium's messages: envelope, schema, headers, positions."""
