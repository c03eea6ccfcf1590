"""Compiles `.proto` text by Google's own compiler, in a process of its own."""

import base64
import binascii
import importlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from lakehouse.declarations.formats.protobuf_format import proto_imports
from lakehouse.formats.schema_errors import SchemaUnusable

MAX_BYTES = 1 << 20
"""A longer text is no schema that somebody wrote."""
SECONDS = 60
_MODULE = "grpc_tools.protoc"
_LOG = re.compile(r"WARNING: All log messages|[IWEF]\d{4} ")
# What registries let every schema import, and where it is installed along with Confluent's client.
_BUILT_IN = {"confluent/": "confluent_kafka.schema_registry.confluent.", "google/type/": "google.type."}


def compile_proto(name: str, sources: Mapping[str, str]) -> bytes:
    """A serialized `FileDescriptorSet` with everything that is imported; the file itself is the last.

    Args:
        name: of the file to compile.
        sources: name → text, of it and of what it imports. Google's well-known types need not be there. A text may also
            be a `FileDescriptorProto` in Base64, as Confluent's client for Python registers it; then all are.

    Raises:
        SchemaUnusable: the compiler refuses it, or is not installed.
    """
    return _compiled(name, tuple(sorted(sources.items())))


@lru_cache(maxsize=256)
def _compiled(name: str, sources: tuple[tuple[str, str], ...]) -> bytes:
    if sum(len(text) for _, text in sources) > MAX_BYTES:
        raise SchemaUnusable(f"the schema has more than {MAX_BYTES >> 20} MiB", remedy="use a smaller one.")
    for source, _ in sources:
        path = PurePosixPath(source)
        if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in source or "\\" in source:
            raise SchemaUnusable(f"the name {source!r} is no path of a file", remedy="correct the reference.")
    by_name = dict(sources)
    if (encoded := _descriptor(name, by_name[name])) is not None:
        others = [_descriptor(source, text) for source, text in sources if source != name]
        return FileDescriptorSet(file=[*(file for file in others if file is not None), encoded]).SerializeToString()
    with tempfile.TemporaryDirectory(prefix="lakehouse-proto-") as folder:
        return _run(Path(folder), name, by_name)


def _run(folder: Path, name: str, sources: Mapping[str, str]) -> bytes:
    for source, text in sources.items():
        path = folder / "in" / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    built_in = _built_in(sources)
    (folder / "built-in").write_bytes(built_in.SerializeToString())
    command = [sys.executable, "-m", _MODULE, f"-I{folder / 'in'}", "--include_imports"]
    if built_in.file:
        command.append(f"--descriptor_set_in={folder / 'built-in'}")
    try:
        done = subprocess.run(
            [*command, f"--descriptor_set_out={folder / 'out'}", name],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SchemaUnusable(f"protoc took more than {SECONDS} seconds", remedy="use a smaller schema.") from None
    if "No module named" in done.stderr:
        raise SchemaUnusable(
            "Protobuf's compiler is not installed",
            remedy="pip install 'sealed-lakehouse[protobuf]', or give a descriptor set (protoc --descriptor_set_out).",
        )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if not _LOG.match(line)]
        complaint = "\n".join(lines).replace(f"{folder / 'in'}/", "").strip()[:300]
        raise SchemaUnusable(f"protoc refuses it ({complaint})", remedy="correct the schema.")
    return (folder / "out").read_bytes()


def _descriptor(name: str, text: str) -> FileDescriptorProto | None:
    """A file that was registered in its compiled form."""
    try:
        file = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, DecodeError):
        return None
    file.name = name
    return file


def _built_in(sources: Mapping[str, str]) -> FileDescriptorSet:
    """The files that are imported, and that every registry knows by itself, after those that they need."""
    files: dict[str, FileDescriptorProto] = {}

    def add(name: str) -> None:
        prefix = next((prefix for prefix in _BUILT_IN if name.startswith(prefix)), None)
        if prefix is None or name in sources or name in files:
            return
        module = _BUILT_IN[prefix] + name.removeprefix(prefix).removesuffix(".proto").replace("/", ".") + "_pb2"
        try:
            encoded: bytes = importlib.import_module(module).DESCRIPTOR.serialized_pb
        except ImportError:
            return  # protoc says what is missing
        file = FileDescriptorProto.FromString(encoded)
        for needed in file.dependency:
            add(needed)
        files[name] = file

    for text in sources.values():
        for name in proto_imports(text):
            add(name)
    return FileDescriptorSet(file=files.values())
