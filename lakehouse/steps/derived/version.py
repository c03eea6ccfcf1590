"""A version of how a table is computed, as far as its declaration says."""

import hashlib
import inspect

import msgspec

from lakehouse.declarations import Derived


def derivation_digest(derived: Derived) -> str:
    """Another one wherever inputs, mode, partitions, or the function or SQL text itself are others.

    Functions that the function calls are not part of it.
    """
    code = derived.compute if isinstance(derived.compute, str) else inspect.getsource(derived.compute)
    declaration = (sorted(derived.inputs.items()), derived.mode, derived.follows, repr(derived.partitions), code)
    return hashlib.sha256(msgspec.json.encode(declaration)).hexdigest()[:16]
