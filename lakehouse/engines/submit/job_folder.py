"""The folder of a job, in an object store or here: its request, its messages, who waits for it, and that it is settled.

`<base>/<step>/<execution>/<try>/`. A try is *settled* when its result was taken over, or when it ended with none.
Then the next try begins. So a retry meets the job that it started: one at work, or one that has ended meanwhile and
that nobody has listened to. Nothing is listed and nothing is renamed: any object store will do.
"""

import itertools
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyiceberg.io import FileIO, load_file_io

from lakehouse.engines.background_process import start_time
from lakehouse.engines.submit.remote_jobs import LaunchToken
from lakehouse.settings import Settings
from lakehouse.settings.secret import revealed
from lakehouse.settings.state import make_private

REQUEST_FILE = "request.json"
_STORAGE = ("s3.", "gcs.", "adls.", "client.")
_WHOLE = b"\n\n"  # a chunk that ends otherwise is still being written, or was never finished


@dataclass(frozen=True)
class JobFolder:
    """One try of a step.

    Args:
        token: of its job.
        location: without a slash at its end.
        io: opens what is below.
    """

    token: LaunchToken
    location: str
    io: FileIO = field(repr=False)

    def read(self, name: str) -> bytes | None:
        """What is there under a name."""
        try:
            with self.io.new_input(f"{self.location}/{name}").open() as stream:
                return stream.read()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Put something there, in the place of what was."""
        with self.io.new_output(f"{self.location}/{name}").create(overwrite=True) as stream:
            stream.write(content)

    @property
    def settled(self) -> bool:
        """Whether its result was taken over, or given up."""
        return self.io.new_input(f"{self.location}/settled").exists()

    def settle(self) -> None:
        """Have the next launch of this step be another try."""
        self.write("settled", b"\n")

    def watch(self) -> None:
        """Note that this process waits for the job."""
        self.write("watcher", f"{socket.gethostname()} {os.getpid()} {start_time(os.getpid())}".encode())

    @property
    def watched(self) -> bool | None:
        """Whether the process that waits for it is alive; None if it is one of another machine, or of nobody."""
        host, _, process = (self.read("watcher") or b"").decode().partition(" ")
        if host != socket.gethostname():
            return None
        pid, _, started = process.partition(" ")
        return start_time(int(pid)) == started

    def put_chunk(self, index: int, lines: list[str]) -> None:
        """Add messages, counted from 1."""
        self.write(f"messages/{index}.jsonl", "\n".join(lines).encode() + _WHOLE)

    def chunk(self, index: int) -> list[str] | None:
        """Messages of an index; None where there are none yet."""
        content = self.read(f"messages/{index}.jsonl")
        if content is None or not content.endswith(_WHOLE):
            return None
        return content.decode().splitlines()[:-1]

    def messages(self) -> Iterator[str]:
        """All that it has reported so far."""
        for index in itertools.count(1):
            lines = self.chunk(index)
            if lines is None:
                return
            yield from lines


def base_location(settings: Settings) -> str:
    """Where the folders of all jobs are: `messages` of the platform, or the folder of local state."""
    if settings.platform.messages is not None:
        return settings.platform.messages.rstrip("/")
    folder = settings.state.root / "submit"
    make_private(folder)
    return str(folder)


def storage_of(settings: Settings) -> FileIO:
    """Opens them: by the catalog's properties of storage, and where there are none by the cloud's own identity."""
    properties = {
        key: revealed(value) for key, value in settings.catalog.properties.items() if key.startswith(_STORAGE)
    }
    return load_file_io(properties, base_location(settings))


def newest_folder(settings: Settings, step: str, execution: str) -> JobFolder:
    """The folder of a step's newest try in an execution: the first that is not settled.

    Args:
        settings: of the platform and its storage.
        step: the step's name.
        execution: id of the root run.
    """
    io = storage_of(settings)
    for number in itertools.count(1):
        folder = folder_of(settings, LaunchToken(step, execution, number), io)
        if not folder.settled:
            return folder
    raise AssertionError("it counts for ever")


def folder_of(settings: Settings, token: LaunchToken, io: FileIO | None = None) -> JobFolder:
    """The folder of a job."""
    return JobFolder(token, f"{base_location(settings)}/{token}", io or storage_of(settings))


def folder_at(settings: Settings, location: str) -> JobFolder:
    """The folder of a job that was told where it is.

    Raises:
        ValueError: it is no folder of a job.
    """
    token = LaunchToken.parse("/".join(location.rsplit("/", 3)[1:]))
    if token is None:
        raise ValueError(f"{location} is no folder of a job: it does not end in <step>/<execution>/<try>.")
    return JobFolder(token, location, storage_of(settings))
