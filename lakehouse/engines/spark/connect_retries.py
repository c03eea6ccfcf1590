"""When PySpark asks a Connect server again."""

from collections.abc import Callable

from pyspark.sql.connect.client.retries import DefaultPolicy
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
