"""Which seals settle what came from outside: nothing is left of before, or a person took it over."""

from collections.abc import Mapping

from lakehouse import seal_keys


def settles(summary: Mapping[str, str]) -> bool:
    """Whether a summary is that of a seal which says that nothing is left of before, or that a person took it over."""
    if seal_keys.VERSION not in summary:
        return False
    return _is_settling(summary.get(seal_keys.KIND, ""), summary, seal_keys.PREFIX)


def is_settling(kind: str, statement: Mapping[str, str]) -> bool:
    """The same of a seal that is still to be written."""
    return _is_settling(kind, statement, "")


def _is_settling(kind: str, texts: Mapping[str, str], prefix: str) -> bool:
    match kind:
        case "adopt" | "rebuild":
            return True
        case "write":
            return texts.get(prefix + seal_keys.WRITE_MODE) == "overwrite"
        case "derive":
            form = (texts.get(prefix + seal_keys.DERIVED_MODE), texts.get(prefix + seal_keys.DERIVED_PARTITION))
            return form == ("full", "[]")
        case _:
            return False
