"""What looks like a secret in plain text: by the name of its key, or by how the value is written."""

import re

from pydantic import SecretStr

_SECRET_KEY = re.compile(
    r"(^|[._-])("
    r"password|passwd|pwd|passphrase|secret|credentials?|token|authorization|cookie|connection[._-]?string"
    r"|(secret[._-]?access|secret|account|api|private|encryption|signing|shared[._-]?access)[._-]?key"
    r"|key\.pem|keystore\.key|user[._-]?info|jaas\.config|oauthbearer\.config"
    # Storage in Azure names the account behind the kind of secret.
    r"|(sas[._-]?token|account[._-]?key|client[._-]?secret|sas\.fixed\.token)[._-].+\.\w+"
    r")$",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"://[^/@\s:]*:[^/@\s]+@"  # user:password@host
    # password=…, as in JAAS, connection strings, JDBC's and Spark Connect's parameters, and the options of a JVM.
    r"|(password|passwd|pwd|passphrase|secret|token|signature|(account|access|api)[._-]?key)[\"']?\s*=\s*[\"']?[^\s\"'&;]"
    r"|[?&]sig=[^&]"  # the signature of an address in Azure
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|^\s*(Bearer|Basic)\s+\S",
    re.IGNORECASE,
)


def names_a_secret(key: str) -> bool:
    """Say whether a property of this name holds a secret, judged by its last words."""
    return _SECRET_KEY.search(key) is not None


def looks_like_a_secret(value: str) -> bool:
    """Say whether a value holds a secret, whatever its key: a password in an address, a connection string, a key."""
    return _SECRET_VALUE.search(value) is not None


def hidden(value: str | SecretStr, key: str = "") -> str | SecretStr:
    """A value that shows itself to nobody, if it is a secret, also where code has put the settings together."""
    if isinstance(value, str) and (looks_like_a_secret(value) or names_a_secret(key)):
        return SecretStr(value)
    return value
