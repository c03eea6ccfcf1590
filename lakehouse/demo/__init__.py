"""The demo's data: real flights of 2013, sent to Kafka. Its tables and streams are declared in `conf/declarations`."""

from lakehouse.demo.broken import BROKEN_FLIGHTS, UNKNOWN_REFERENCE, BrokenRecord
from lakehouse.demo.loading import DEMO_TOPICS, DemoTopicDiffers, load_demo, send_days

__all__ = [
    "BROKEN_FLIGHTS",
    "DEMO_TOPICS",
    "UNKNOWN_REFERENCE",
    "BrokenRecord",
    "DemoTopicDiffers",
    "load_demo",
    "send_days",
]
