"""A policy in the words of Iceberg's procedure, and what is told of an error of Spark's."""

from lakehouse.maintenance.compact import PROCEDURE, _kind_of, options_of
from lakehouse.maintenance.traps import require_safe
from lakehouse.tables import Rewrite


def test_the_policy_in_the_words_of_the_procedure() -> None:
    rewrite = Rewrite(target_file_size=100_000, min_file_size_ratio=0.5, max_file_size_ratio=2.0, min_input_files=3)
    options = options_of(rewrite, foreign=False)
    require_safe(PROCEDURE, options)
    assert options == {
        "target-file-size-bytes": "100000",
        "min-file-size-bytes": "50000",
        "max-file-size-bytes": "200000",
        "min-input-files": "3",
        "delete-file-threshold": "1",
        "delete-ratio-threshold": "0.3",
        "max-file-group-size-bytes": str(2 * 1024**3),
        "partial-progress.enabled": "false",
        "remove-dangling-deletes": "true",
    }
    assert options_of(rewrite, foreign=True)["rewrite-all"] == "true"


def test_no_value_of_a_row_is_told() -> None:
    """Java's message shows the condition, and so the values of partitions."""
    error = Exception(
        "An error occurred while calling o50.sql.\n: org.apache.iceberg.exceptions.ValidationException: "
        "Cannot filter by name = 'secret'\n\tat java.lang.Thread.run"
    )
    assert _kind_of(error) == "org.apache.iceberg.exceptions.ValidationException"
    assert _kind_of(KeyError("secret")) == "KeyError"
