"""A file becomes a typed section, or one error that names each key that is wrong, and no value."""

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from lakehouse.settings.document import Document, meant
from lakehouse.settings.error import SettingsError

_Model = TypeVar("_Model", bound=BaseModel)
_UNKNOWN = "extra_forbidden"
# Messages of these kinds say what was expected and nothing of what was found; all others are replaced.
_HARMLESS = {
    "bad_value",
    "bool_parsing",
    "bool_type",
    "contradiction",
    "dict_type",
    "float_parsing",
    "float_type",
    "greater_than",
    "greater_than_equal",
    "int_from_float",
    "int_parsing",
    "int_type",
    "literal_error",
    "missing",
    "needs_key",
    "no_cluster",
    "no_parameter",
    "no_such_master",
    "no_such_zone",
    "one_login",
    "one_python",
    "one_service",
    "path_is_cut",
    "string_type",
    "tuple_type",
}


def validated(model: type[_Model], document: Document, **given: object) -> _Model:
    """Make a section of what a file says.

    Args:
        model: the section.
        document: the file, or a part of it.
        given: what does not stand in the file.

    Raises:
        SettingsError: names the key, and says what should be there; never what is.
    """
    try:
        return model.model_validate({**document.content, **given})
    except ValidationError as error:
        details = error.errors(include_input=False, include_url=False, include_context=False)
        lines = [
            f"{document.where(*_key_path(document.content, detail['loc'], missing=detail['type'] == 'missing'))}: "
            f"{_message(detail)}."
            for detail in details
        ]
        remedy = f"{_advice(model, details)}correct the value; docs/reference/settings.md lists the keys."
    # Raised outside the handler: pydantic's own error would travel along and could print what was typed.
    raise SettingsError("\n".join(dict.fromkeys(lines)), remedy=remedy)


def _message(detail: ErrorDetails) -> str:
    if detail["type"] == _UNKNOWN:
        return "unknown key"
    return detail["msg"] if detail["type"] in _HARMLESS else "This value cannot be understood"


def _advice(model: type[BaseModel], details: Sequence[ErrorDetails]) -> str:
    """The key that was meant, where one of the section alone is wrong, and unknown."""
    match details:
        case [{"type": kind, "loc": (str(key),)}] if kind == _UNKNOWN:
            return meant(key, model.model_fields)
        case _:
            return ""


def _key_path(content: object, location: Sequence[str | int], *, missing: bool) -> list[str]:
    """Where it stands in the file: pydantic's location has steps of its own, such as the types that it has tried."""
    path: list[str] = []
    for part in location:
        below = _below(content, part)
        if below is not None:
            path.append(str(part))
            content = below[0]
    return [*path, str(location[-1])] if missing else path


def _below(content: object, part: str | int) -> tuple[object] | None:
    """What the file has there; None if it has no such key."""
    if isinstance(content, Mapping):
        keys = {str(key): value for key, value in cast("Mapping[object, object]", content).items()}
        return (keys[str(part)],) if str(part) in keys else None
    if isinstance(content, list) and isinstance(part, int) and part < len(cast("list[object]", content)):
        return (cast("list[object]", content)[part],)
    return None
