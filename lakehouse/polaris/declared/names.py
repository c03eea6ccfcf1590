"""Names as Polaris takes them: of catalogs, namespaces and tables; of principals, of roles, of all at most 256 long."""

import re
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from lakehouse.settings.values import problem_of_name, unseen

LONGEST = 256
CATALOG_ADMIN, SERVICE_ADMIN = "catalog_admin", "service_admin"
"""The roles that Polaris makes by itself: of each catalog, and of the server."""
_RESERVED = re.compile(r"\s*system\$", re.IGNORECASE)


def problem_of_polaris_name(text: str) -> str | None:
    """What Polaris would refuse in the name of something that its management keeps; None if it takes it."""
    if (problem := problem_of_name(text)) is not None:
        return problem
    if len(text) > LONGEST:
        return f"has {len(text)} characters, and Polaris takes {LONGEST}"
    return "begins with system$, which Polaris keeps for itself" if _RESERVED.match(text) else None


def problem_of_namespace(text: str) -> str | None:
    """The same of a namespace, whose levels are joined by dots."""
    return next((problem for level in text.split(".") if (problem := problem_of_name(level))), None)


def problem_of_table(text: str) -> str | None:
    """The same of a table, `namespace.table`."""
    return problem_of_namespace(text) if "." in text else "names no namespace; write namespace.table"


def _name(text: str) -> str:
    return _taken(text, problem_of_polaris_name(text))


def _namespace(text: str) -> str:
    return _taken(text, problem_of_namespace(text))


def _table(text: str) -> str:
    return _taken(text, problem_of_table(text))


def _seen(text: str) -> str:
    problem = f"has {hidden}; type it, or paste it again without" if (hidden := unseen(text)) else None
    return _taken(text, problem or (None if text else "is empty"))


def _taken(text: str, problem: str | None) -> str:
    if problem is not None:
        raise PydanticCustomError("bad_value", "This name {problem}", {"problem": problem})
    return text


PolarisName = Annotated[str, AfterValidator(_name)]
NamespaceName = Annotated[str, AfterValidator(_namespace)]
TableName = Annotated[str, AfterValidator(_table)]
SeenText = Annotated[str, AfterValidator(_seen)]
"""A text of which a person sees every character."""
