"""`python -m lakehouse_tests.recorded --record VERSION`: a small lake of the present code, kept for later code."""

import argparse
import sys
import tempfile
from pathlib import Path

from lakehouse_tests.recorded.archive import LARGEST, archive_of, pack
from lakehouse_tests.recorded.recording import record


def main() -> None:
    """Record, once for each version: an archive is never written anew."""
    parser = argparse.ArgumentParser(prog="python -m lakehouse_tests.recorded")
    parser.add_argument("--record", metavar="VERSION", required=True, help="the released version, such as 0.1.0")
    version = parser.parse_args().record
    if archive_of(version).exists():
        sys.exit(f"{archive_of(version)} is there already: it is what {version} wrote.")
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "lake"
        written = pack(lake, version, record(lake))
    size = written.stat().st_size
    print(f"{written}: {size:,} bytes")
    if size >= LARGEST:
        sys.exit(f"That is more than {LARGEST:,}: make the recording smaller.")


if __name__ == "__main__":
    main()
