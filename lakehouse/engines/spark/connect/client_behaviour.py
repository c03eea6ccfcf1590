"""Where PySpark's client of a Connect server is to behave otherwise: when it asks again, and whose a checkpoint is.

PySpark keeps as active the first session that a thread has opened, until that is closed, and takes what any session has
checkpointed for a frame of the active one, on whose side of the server it is not known.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession as RemoteSession
from typing_extensions import override


class WhileItAnswers(DefaultPolicy):
    """PySpark's own policy, for a server on this machine: where nobody listens there, nobody comes back to us.

    PySpark itself would go on for ten minutes, and then meet a server that knows nothing of the session.
    """

    def __init__(self, answers: Callable[[], bool]) -> None:
        super().__init__()
        self._answers = answers

    @override
    def can_retry(self, e: BaseException) -> bool:
        return super().can_retry(e) and self._answers()


@contextmanager
def active(session: RemoteSession) -> Generator[None]:
    """Have a session as the active one of this thread; afterwards it is the one of before."""
    of_thread = RemoteSession._active_session  # noqa: SLF001  # pyright: ignore - there is no other way to set it
    former = getattr(of_thread, "session", None)
    of_thread.session = session
    try:
        yield
    finally:
        of_thread.session = former


def own_checkpoints(session: RemoteSession) -> None:
    """Let what a session checkpoints be a frame of its own, whichever is active, and in whichever thread."""
    execute = session.client.execute_command

    def execute_command(*args: Any, **named: Any) -> Any:
        with active(session):
            return execute(*args, **named)

    session.client.execute_command = execute_command
