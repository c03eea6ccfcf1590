"""Several Spark Connect sessions in one process: which is the active one, and whose a checkpoint is.

PySpark keeps as active the first session that a thread has opened, until that is closed, and takes what any session has
checkpointed for a frame of the active one, on whose side of the server it is not known.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession as RemoteSession


@contextmanager
def active(session: SparkSession) -> Generator[None]:
    """Have a session as the active one of this thread; afterwards it is the one of before."""
    from pyspark.sql.connect.session import SparkSession as RemoteSession  # with it comes pandas

    of_thread = RemoteSession._active_session  # noqa: SLF001  # pyright: ignore - there is no other way to set it
    former = getattr(of_thread, "session", None)
    of_thread.session = session
    try:
        yield
    finally:
        of_thread.session = former


def own_checkpoints(session: "RemoteSession") -> None:
    """Let what a session checkpoints be a frame of its own, whichever is active, and in whichever thread."""
    execute = session.client.execute_command

    def execute_command(*args: Any, **named: Any) -> Any:
        with active(cast("SparkSession", session)):
            return execute(*args, **named)

    session.client.execute_command = execute_command
