"""Several topics as one: their numbers, and what they hold."""
