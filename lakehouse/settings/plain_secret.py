"""What looks like a secret in plain text: by the name of its key, or by how the value is written."""

import re

from pydantic import SecretStr

from lakehouse.settings.secret import has_reference, without_references

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")  # clientSecret is client-Secret
_SECRET_KEY = re.compile(
    r"(password|passwd|passphrase|secret|credentials?|token)$"
    r"|(^|[._-])("
    r"pwd|authorization|cookie|connection[._-]?string"
    r"|(secret[._-]?access|secret|account|api|(en|de)cryption|signing|shared[._-]?access)[._-]?key"
    r"|key\.pem|keystore\.key|user[._-]?info|jaas\.config|oauthbearer\.config"
    # Storage in Azure names the account behind the kind of secret.
    r"|(sas[._-]?token|account[._-]?key|client[._-]?secret|sas\.fixed\.token)[._-].+\.\w+"
    r")$",
    re.IGNORECASE,
)
# A private key, or the path of the file that it is in, which is no secret.
_KEY_OR_FILE = re.compile(r"(^|[._-])(private|(ssl|tls)([._-]?client)?|client)[._-]?key$", re.IGNORECASE)
_PATH = re.compile(r"(file:|~|\.{0,2}/).+")
# Texts with a secret in them; the others are one as a whole, or an id and one, with a colon between.
_SENTENCE_KEY = re.compile(r"(^|[._-])(cookie|connection[._-]?string|(jaas|oauthbearer)\.config)$", re.IGNORECASE)
_LOGIN_KEY = re.compile(r"(^|[._-])(credentials?|user[._-]?info)$", re.IGNORECASE)
_BESIDE_A_SECRET = re.compile(r"(Bearer|Basic|Token|Api-?Key)?[\W_]*", re.IGNORECASE)
_BEFORE_A_SECRET = re.compile(r"([^:]*:)?[\W_]*")
_SECRET_VALUE = re.compile(
    r"://[^/@\s:]*:[^/@\s]+@"  # user:password@host
    # password=…, as in JAAS, connection strings, JDBC's and Spark Connect's parameters, and the options of a JVM.
    r"|(password|passwd|pwd|passphrase|secret|token|signature|(account|access|api)[._-]?key)[\"']?\s*=\s*[\"']?[^\s\"'&;]"
    r"|[?&]sig=[^&]"  # the signature of an address in Azure
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|^\s*(Bearer|Basic)\s+\S",
    re.IGNORECASE,
)


# As SQLAlchemy reads an address: a password goes on to the first @, whatever is in it.
_DATABASE_PASSWORD = re.compile(r"^(?!\s*https?:).*?://[^:/]*:[^@]+@", re.IGNORECASE | re.DOTALL)


def names_a_secret(key: str) -> bool:
    """Say whether a property of this name holds a secret, judged by its last words."""
    words = _CAPITAL.sub("-", key)
    return _SECRET_KEY.search(words) is not None or _KEY_OR_FILE.search(words) is not None


def looks_like_a_secret(value: str) -> bool:
    """Say whether a value holds a secret, whatever its key: a password in an address, a connection string, a key."""
    return _SECRET_VALUE.search(value) is not None


def has_plain_secret(key: str, value: str) -> bool:
    """Say whether a secret, or a part of it, is written out in the value of a key, alone or beside references."""
    plain = without_references(value)
    if looks_like_a_secret(plain) or (key == "uri" and _DATABASE_PASSWORD.match(plain)):
        return True
    words = _CAPITAL.sub("-", key)
    if not names_a_secret(key) or (_KEY_OR_FILE.search(words) and _PATH.fullmatch(value)):
        return False
    if not has_reference(value):
        return True
    allowed = _BEFORE_A_SECRET if _LOGIN_KEY.search(words) else _BESIDE_A_SECRET
    return not _SENTENCE_KEY.search(words) and not allowed.fullmatch(plain)


def hidden(value: str | SecretStr, key: str = "") -> str | SecretStr:
    """A value that shows itself to nobody, if it is a secret, also where code has put the settings together."""
    return SecretStr(value) if isinstance(value, str) and has_plain_secret(key, value) else value
