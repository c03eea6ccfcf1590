"""A publish in a process of its own, which a failpoint kills: `python -m lakehouse.acceptance.killed_publish`."""

import os
import sys

from lakehouse.acceptance.numbers import bases_of, stage_number
from lakehouse.acceptance.scratch import Scratch
from lakehouse.protocol.commit import publish
from lakehouse.settings import load_settings


def main(namespace: str, number: str) -> None:
    """Publish a number into both tables of a run that is under way."""
    place = Scratch(load_settings(environ=os.environ), namespace, 0, lambda _: None)
    attempt = place.attempt(f"write:{number}")
    publish(place.catalog, stage_number(place.catalog, bases_of(place, place.catalog), attempt, int(number)))


if __name__ == "__main__":
    main(*sys.argv[1:])
