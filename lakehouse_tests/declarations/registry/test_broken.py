"""A declaration that does not load is told in one line, and raised as what it was."""

from pathlib import Path

import pytest

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.registry.broken import BrokenDeclaration


def test_it_is_told_with_its_remedy_and_raised_as_the_error_that_it_was() -> None:
    broken = BrokenDeclaration(Path("things.py"), 3, "things.py, line 3: SyntaxError.", "correct the file", ("raw.a",))
    assert str(broken) == "things.py, line 3: SyntaxError. Remedy: correct the file"
    with pytest.raises(DeclarationError, match="line 3: SyntaxError") as raised:
        raise broken.error
    assert raised.value.remedy == broken.remedy
