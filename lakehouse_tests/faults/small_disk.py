"""A file system of a few MB that a test fills, and makes room on."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_BLOCK = 4096


class SmallDisk:
    """A mounted file system.

    Args:
        folder: where it is mounted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Leave no block free."""
        with self._ballast.open("ab", buffering=0) as ballast:
            while (free := os.statvfs(self.folder).f_bavail) > 0:
                ballast.write(bytes(free * _BLOCK))

    def make_room(self) -> None:
        """Leave it as it was before it was filled."""
        self._ballast.unlink()

    @contextmanager
    def full(self) -> Iterator[None]:
        """Full, until the block ends."""
        self.fill()
        try:
            yield
        finally:
            self.make_room()


@contextmanager
def mounted(folder: Path, mib: int) -> Iterator[SmallDisk]:
    """A disk of so many MiB of memory; root alone may mount one, and the test is skipped for others."""
    folder.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mount.returncode:
        pytest.skip(f"needs leave to mount a file system: {mount.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
