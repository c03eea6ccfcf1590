"""A file becomes a typed section, or one error that names each key that is wrong, and no value."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from lakehouse.settings.document import Document
from lakehouse.settings.error import SettingsError

_Model = TypeVar("_Model", bound=BaseModel)
# Messages of these kinds say what was expected and nothing of what was found; all others are replaced.
_HARMLESS = {
    "bad_value",
    "bool_parsing",
    "bool_type",
    "contradiction",
    "dict_type",
    "extra_forbidden",
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
        lines = [
            f"{document.where(*(str(part) for part in detail['loc']))}: "
            f"{detail['msg'] if detail['type'] in _HARMLESS else 'This value cannot be understood'}."
            for detail in error.errors(include_input=False, include_url=False, include_context=False)
        ]
    # Raised outside the handler: pydantic's own error would travel along and could print what was typed.
    raise SettingsError("\n".join(lines), remedy="correct the value; docs/reference/settings.md lists the keys.")
