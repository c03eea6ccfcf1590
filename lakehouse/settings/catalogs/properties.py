"""A catalog's settings as PyIceberg's properties and as Iceberg's in Java: pure functions over one table of keys."""

from collections.abc import Callable
from urllib.parse import unquote

from pydantic import SecretStr

from lakehouse.settings.catalogs.keys import PYTHON_ONLY, RENAMED, Side, keys_of
from lakehouse.settings.database_address import require_database_address
from lakehouse.settings.error import SettingsError
from lakehouse.settings.models.catalog import CatalogSettings
from lakehouse.settings.values import problem_of_property, unseen

Reveal = Callable[[str, SecretStr], str]
_TOKENS = "v1/oauth/tokens"
_SHARED_KEY = "adls.auth.shared-key.account"


def in_the_clear(key: str, secret: SecretStr) -> str:
    """A secret's value, by the key of its property.

    Raises:
        SettingsError: it has a character that nobody sees, is no such address, or what it refers to cannot be read.
    """
    value = secret.get_secret_value()
    # What is looked up for a part of an address is written with percent signs; and a password may end with a blank.
    seen = unquote(value) if key.rpartition(".")[2] == "uri" else value
    hidden = unseen(seen.strip(" "))
    if problem := f"has {hidden}" if hidden else problem_of_property(key, value.strip(" ")):
        raise SettingsError(
            f"The catalog's property {key}, which is a secret, {problem}.",
            remedy="correct it in the variable or file that its file of conf/catalogs refers to",
        )
    return value


def python_properties(catalog: CatalogSettings, reveal: Reveal = in_the_clear) -> dict[str, str]:
    """What `load_catalog` of PyIceberg is given, but for `type`: address, warehouse, and all other properties.

    Args:
        catalog: where tables live.
        reveal: what stands for a secret, by its key.

    Raises:
        SettingsError: a secret cannot be read, or has a character that nobody sees, or the address is none.
    """
    address = _address(catalog, reveal)
    if catalog.type == "sql":
        require_database_address(address, catalog.name)
    properties = typed_properties(catalog, "python")
    for key, value in catalog.properties.items():
        properties[key] = reveal(key, value) if isinstance(value, SecretStr) else value
    if _logs_in(catalog):
        properties.setdefault("oauth2-server-uri", _own_tokens(address))
    location = glue_address(address) if catalog.type == "glue" else {"uri": address}
    if catalog.type == "glue" and catalog.region:
        location["glue.region"] = catalog.region
    return {**location, "warehouse": catalog.warehouse, **properties}


def glue_address(address: str) -> dict[str, str]:
    """Where both sides find a Glue that is not AWS' own; nothing where it is."""
    return {"glue.endpoint": address} if address else {}


def java_properties(catalog: CatalogSettings, reveal: Reveal = in_the_clear) -> dict[str, str]:
    """What Spark is told of the catalog beside its kind and address: keys without the prefix of the catalog.

    Args:
        catalog: where tables live.
        reveal: what stands for a secret, by its key.

    Raises:
        SettingsError: a secret cannot be read, or has a character that nobody sees.
    """
    properties = typed_properties(catalog, "java")
    for key, value in catalog.properties.items():
        if not key.startswith(PYTHON_ONLY):
            name = RENAMED.get(key, key)
            properties[name] = reveal(name, value) if isinstance(value, SecretStr) else value
    if catalog.account and f"{_SHARED_KEY}.key" in properties:  # a name without a key is no login
        properties.setdefault(f"{_SHARED_KEY}.name", catalog.account)
    if _logs_in(catalog):
        properties.setdefault("token-refresh-enabled", "true")
        properties.setdefault("oauth2-server-uri", _own_tokens(_address(catalog, reveal)))
    return properties


def typed_properties(catalog: CatalogSettings, side: Side) -> dict[str, str]:
    """The properties of one side that follow from typed keys; none of them is a secret."""
    properties = dict[str, str]()
    for key in keys_of(catalog.file_storage):
        given = catalog.file_storage if key.setting == "storage" else getattr(catalog, key.setting)
        name = key.name(side)
        if given is None or name is None:
            continue
        value = key.value(side, str(given).lower() if isinstance(given, bool) else str(given))
        if value is not None:
            properties[name] = value
    return properties


def _logs_in(catalog: CatalogSettings) -> bool:
    return catalog.type == "rest" and "credential" in catalog.properties


def _own_tokens(address: str) -> str:
    """Where the catalog itself gives tokens; both clients warn where they have to derive it."""
    return f"{address.rstrip('/')}/{_TOKENS}"


def _address(catalog: CatalogSettings, reveal: Reveal) -> str:
    return reveal("uri", catalog.uri) if isinstance(catalog.uri, SecretStr) else catalog.uri
