"""Spark and Kafka: how to reach them, and servers of our own on a laptop."""
