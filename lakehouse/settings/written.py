"""Texts of a file: `${home}` is put in, references to secrets stay such, and what is wrong is told by file and key.

A secret in plain text is refused, and nothing that was typed is repeated: it may be one.
"""

import re
from pathlib import Path

from pydantic import SecretStr

from lakehouse.settings.document import Document
from lakehouse.settings.error import SettingsError
from lakehouse.settings.plain_secret import has_plain_secret, looks_like_a_secret
from lakehouse.settings.secret import LateSecret, has_reference
from lakehouse.settings.values import unseen

_ADDRESSES = (("uri",), ("remote",))
_SECRETS = (("rpc_secret",),)


def substituted(document: Document, path: tuple[str, ...], text: str, home: Path) -> str | SecretStr:
    """A text of a platform's, catalog's or Kafka's file, with `${home}` replaced; references to secrets stay such.

    Raises:
        SettingsError: a secret is written out, or stands where it cannot be kept.
    """
    text = text.replace("${home}", str(home))
    where, in_address = document.where(*path), path in _ADDRESSES
    refuse_unseen(where, text)
    if not in_address and path not in _SECRETS and (path[0] != "properties" or len(path) != 2):
        return without_secret(document, path, text)
    if has_plain_secret(path[-1], text):
        if path in document.origins:
            return LateSecret(text, where=where, in_address=in_address) if has_reference(text) else SecretStr(text)
        raise SettingsError(
            f"{where}: a {'password' if in_address else 'secret'} must not be written into a file.",
            remedy="write ${env:NAME} or ${file:/path} in its place.",
        )
    return LateSecret(text, where=where, in_address=in_address) if has_reference(text) else text


def refuse_unseen(where: str, text: str) -> None:
    """Refuse characters that nobody sees, which come by pasting; ends of lines are seen, as in a certificate.

    Raises:
        SettingsError: there is one.
    """
    if (hidden := unseen(re.sub(r"\r?\n|\t", " ", text).strip(" "))) is not None:
        raise SettingsError(f"{where}: this value has {hidden}.", remedy="type it, or paste it again without.")


def without_secret(document: Document, path: tuple[str, ...], text: str) -> str:
    """A text that is no place for a secret.

    Raises:
        SettingsError: it holds one.
    """
    where = document.where(*path)
    if path[0] == "conf" and (has_reference(text) or has_plain_secret(path[-1], text)):
        raise SettingsError(
            f"{where}: Spark shows its settings in its UI and logs, no place for a secret.",
            remedy="give it to Spark's own environment, or, if a catalog or its storage needs it, to the catalog's "
            "properties.",
        )
    if has_reference(text) or looks_like_a_secret(text):
        raise SettingsError(
            f"{where}: a secret may only be a value under properties, or within uri or remote.", remedy="move it there."
        )
    return text
