"""A version of how a table is computed, as far as its declaration says."""

import hashlib
import inspect

import msgspec

from lakehouse.declarations import Derived


def derivation_digest(one: Derived) -> str:
    """Another one wherever inputs, mode, partitions, or the function or SQL text itself are others.

    Functions that the function calls are not part of it.
    """
    code = one.compute if isinstance(one.compute, str) else inspect.getsource(one.compute)
    said = (sorted(one.inputs.items()), one.mode, one.follows, repr(one.partitions), code)
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:16]
