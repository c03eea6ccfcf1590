"""Messages that a project brings along, for topics of the local broker that have never held any."""

from pathlib import Path

from lakehouse.cli.context import Context
from lakehouse.cli.declared import declarations_of
from lakehouse.engines.kafka import Record, create_topic, read_topic, send

FOLDER = "samples"


def send_samples(context: Context) -> dict[str, int]:
    """Send `conf/samples/<stream>.jsonl`, a message a line, where the (first) topic is empty on a broker of our own.

    Returns:
        Topic → messages sent now.
    """
    files = {file.stem: file for file in sorted((context.settings.conf / FOLDER).glob("*.jsonl"))}
    if not (files and context.settings.kafka.local):
        return {}
    streams = declarations_of(context).streams
    return {
        topic: sent
        for name, file in files.items()
        if name in streams and (topic := next(iter(streams[name].topic_names), ""))
        if (sent := _send(context, topic, file))
    }


def _send(context: Context, topic: str, file: Path) -> int:
    kafka = context.settings.kafka
    create_topic(kafka, topic, 1)
    if any(limits.last_stable for limits in read_topic(kafka, topic).partitions.values()):
        return 0
    lines = (line for line in file.read_bytes().splitlines() if line.strip())
    return send(kafka, topic, [Record(line) for line in lines], console=context.err)
