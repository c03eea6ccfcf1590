"""The demo's data: real flights of 2013, sent to Kafka. Its tables and streams are declared in `conf/declarations`."""

from lakehouse.demo.broken import BROKEN_FLIGHTS, UNKNOWN_REFERENCE, BrokenRecord
from lakehouse.demo.change_delivery import Disorder
from lakehouse.demo.change_sending import AnotherHistory, missing_changes
from lakehouse.demo.changes import FlightChanges, flight_changes
from lakehouse.demo.loading import DEMO_TOPICS, DemoTopicDiffers, load_demo, send_days

__all__ = [
    "BROKEN_FLIGHTS",
    "DEMO_TOPICS",
    "UNKNOWN_REFERENCE",
    "AnotherHistory",
    "BrokenRecord",
    "DemoTopicDiffers",
    "Disorder",
    "FlightChanges",
    "flight_changes",
    "load_demo",
    "missing_changes",
    "send_days",
]
