"""Apicurio, the schema registry of tests: what Maven brings."""
