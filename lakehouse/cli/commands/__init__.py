"""One module a verb, by the panels of `lakehouse --help`."""
