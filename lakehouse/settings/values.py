"""What a value of a catalog's file must look like: it has been pasted, and what cannot be seen in it breaks later."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from types import MappingProxyType
from urllib.parse import urlsplit

# Control, format (zero width, direction of writing), private, surrogate; ends of lines and paragraphs.
_UNSEEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
_ARN = re.compile(r"arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:(\d{12})?:[^\s:].*")
_HTTP = re.compile(r"https?://", re.IGNORECASE)
_ADDRESS = re.compile(
    r"https?://(?:[^/?#]*@)?(?P<host>\[[^\]]+\]|[\w.-]+)(?::(?P<port>[0-9]{0,5}))?(?:[/?#]\S*)?", re.IGNORECASE
)
_HIGHEST_PORT = 65_535
_CATALOG = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")
_SPARKS_CATALOGS = frozenset({"lake", "spark_catalog"})
# What PyIceberg takes as keys below a key alone, and any text for it would break its client.
_MAPPINGS: Mapping[str, str] = MappingProxyType(
    {"auth": "log in by credential or token", "ssl": "name a CA's file in the variable REQUESTS_CA_BUNDLE"}
)
# Polaris 1.6 and later refuses these in names.
_NOT_IN_NAMES = set('/\\:*?"<>|#+`')


def names_a_host(address: str) -> bool:
    """Say whether a client can ask for an address of the web: its scheme, host and port can be such."""
    parts = _ADDRESS.fullmatch(address)
    if parts is None or int(parts["port"] or 0) > _HIGHEST_PORT:
        return False
    try:
        if parts["host"].startswith("["):
            ip_address(parts["host"][1:-1])
        else:
            parts["host"].encode("idna")  # refuses labels that are empty or too long
    except ValueError:
        return False
    return True


def _is_bare_address(text: str) -> bool:
    return names_a_host(text) and not set("@?#") & set(text)


_FORMS: Mapping[str, tuple[Callable[[str], object], str]] = MappingProxyType(
    {
        "uri": (names_a_host, "an address such as https://polaris.example/api/catalog"),
        "region": (re.compile(r"[a-z0-9]+(-[a-z0-9]+)*").fullmatch, "a region such as eu-central-1"),
        "endpoint": (_is_bare_address, "an address such as https://store.example:9000"),
        "oauth2_server_uri": (_is_bare_address, "an address such as https://idp.example/oauth/token"),
        "realm": (re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*").fullmatch, "a realm such as POLARIS"),
        "scope": (
            re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*").fullmatch,
            "scopes, by single blanks",
        ),
        "project": (
            re.compile(r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]").fullmatch,
            "a project's id: 6 to 30 of a-z, 0-9 and dashes",
        ),
        "account": (re.compile(r"[a-z0-9]{3,24}").fullmatch, "the account's bare name: 3 to 24 of a-z and 0-9"),
    }
)


def unseen(text: str) -> str | None:
    """What in a text is not seen on a screen, named with its position; None if there is nothing.

    A blank at either end counts, and so does one that is no ordinary blank.
    """
    for position, char in enumerate(text, start=1):
        category = unicodedata.category(char)
        if category in _UNSEEN or (category == "Zs" and char != " "):
            name = unicodedata.name(char, "a control character").lower()
            return f"U+{ord(char):04X} ({name}) at position {position}"
    return "a blank at its end" if text != text.rstrip() else "a blank at its start" if text != text.lstrip() else None


def problem_of_key(key: str, text: str) -> str | None:
    """What is wrong with the value of a key of a catalog's file, as the end of a sentence; None if it is well."""
    if (hidden := unseen(text)) is not None:
        return f"has {hidden}; type it, or paste it again without"
    if (form := _FORMS.get(key)) is None:
        return None
    has_form, example = form
    return None if has_form(text) else f"should be {example}"


def is_readable(location: str) -> bool:
    """Say whether clients can take the address of a folder apart; a name of a warehouse is one."""
    try:
        urlsplit(location)
    except ValueError:
        return False
    return True


def problem_of_property(key: str, text: str) -> str | None:
    """The same of a property, by its key: an ARN has to be one, and an address of the web to name a host."""
    if (hidden := unseen(text)) is not None:
        return f"has {hidden}; type it, or paste it again without"
    if re.search(r"(^|[._-])arn$", key) and not _ARN.fullmatch(text):
        return "should be an ARN such as arn:aws:iam::123456789012:role/lake"
    if key in _MAPPINGS:
        return f"is no text to PyIceberg, and a property is one; {_MAPPINGS[key]}"
    if re.search(r"(^|[._-])(endpoint|host|ur[il])$", key) and _HTTP.match(text) and not names_a_host(text):
        return "should be an address such as https://store.example:9000"
    return None


def problem_of_name(text: str) -> str | None:
    """What Polaris would refuse in the name of a catalog, namespace or table; None if it takes it."""
    if hidden := unseen(text):
        return f"has {hidden}; type it, or paste it again without"
    if bad := sorted(_NOT_IN_NAMES & set(text)):
        return f"has {bad[0]}, which Polaris refuses in names"
    return "is no name" if text in {"", ".", ".."} else None


def problem_of_catalog_name(text: str) -> str | None:
    """Why no catalog can be named so beside the own one; None if one can. Spark and Dagster take the name as it is."""
    if text in _SPARKS_CATALOGS:
        return f"is a name that Spark has for another catalog ({', '.join(sorted(_SPARKS_CATALOGS))})"
    return None if _CATALOG.fullmatch(text) else "should be of letters, digits, dashes and underscores, a letter first"
