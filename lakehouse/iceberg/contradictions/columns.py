"""Schemas, partition specs and sort orders of a metadata document that contradict each other, or themselves."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pyiceberg.transforms import UnknownTransform, VoidTransform, parse_transform
from pyiceberg.types import NestedField, PrimitiveType

from lakehouse.iceberg.contradictions.values import FIELD, PARTITION_FIELD, SORT_FIELD, odd_items, odd_parts

_Json = Mapping[str, Any]
_UNSORTED = 0


class _Field(NamedTuple):
    """A field of a schema, at any depth: its full name, how the JSON says it, and whether a row has it once."""

    path: str
    json: _Json
    single: bool = True


def contradictions_of_columns(document: _Json) -> Iterator[str]:
    """Each as the end of a sentence; first what would make a comparison of the rest senseless."""
    schemas = _listed(document, "schemas", "schema")
    specs = _listed(document, "partition-specs")
    orders = _listed(document, "sort-orders")
    yield from _doubled("schemas", "id", (schema.get("schema-id") for schema in schemas))
    yield from _doubled("partition specs", "id", (spec.get("spec-id") for spec in specs))
    yield from _doubled("sort orders", "id", (order.get("order-id") for order in orders))
    for key, chosen in (("default-spec-id", "spec-id"), ("default-sort-order-id", "order-id")):
        items = specs if chosen == "spec-id" else orders
        if items and document.get(key) not in (None, *(item.get(chosen) for item in items)):
            yield f"`{key}` is {document[key]}, and there is none of that id"
    last = document.get("last-column-id")
    for schema in schemas:
        yield from _of_schema(schema, last)
    current = next((s for s in schemas if s.get("schema-id") == document.get("current-schema-id")), None)
    columns = {field.json.get("id"): field for field in _fields(current or schemas[-1], "")} if schemas else {}
    for spec in specs:
        is_default = spec.get("spec-id") == document.get("default-spec-id")
        yield from _of_spec(spec, columns if is_default else None, columns, last, document.get("last-partition-id"))
    for order in orders:
        is_default = order.get("order-id") == document.get("default-sort-order-id")
        yield from _of_order(order, columns if is_default else None, last)


def _listed(document: _Json, key: str, former: str = "") -> Sequence[_Json]:
    """A list of objects; documents of format 1 may have one object under the former key."""
    items = document.get(key)
    return items or ([document[former]] if former and document.get(former) else [])


def _doubled(what: str, kind: str, ids: Iterable[Any]) -> Iterator[str]:
    for value, count in Counter(ids).items():
        if count > 1:
            yield f"{count} {what} have the {kind} {value}"


def _fields(parent: _Json, path: str, *, single: bool = True) -> Iterator[_Field]:
    """All fields below a schema or a type, as Iceberg counts them: elements, keys and values have ids as well."""
    match parent.get("type"):
        case "struct":
            children = [(field, field.get("name")) for field in parent.get("fields") or ()]
        case "list":
            children = [(_element(parent, "element"), "element")]
        case "map":
            children = [(_element(parent, "key"), "key"), (_element(parent, "value"), "value")]
        case _:
            return
    single = single and parent.get("type") == "struct"
    for field, name in children:
        yield _Field(f"{path}{name}", field, single)
        if isinstance(inner := field.get("type"), dict):
            yield from _fields(inner, f"{path}{name}.", single=single)


def _element(parent: _Json, part: str) -> _Json:
    return {"id": parent.get(f"{part}-id"), "type": parent.get(part), "required": parent.get(f"{part}-required")}


def _of_schema(schema: _Json, last: int | None) -> Iterator[str]:
    where = f"schema {schema.get('schema-id', 0)}"
    yield from _without_fields(where, schema)
    fields = list(_fields(schema, ""))
    for field in fields:
        yield from odd_parts(field.json, FIELD, f"{where}, field {field.path}: ")
    yield from (f"{where}: {words}" for words in _doubled("fields", "id", (field.json.get("id") for field in fields)))
    yield from (f"{where}: {words}" for words in _doubled("fields", "name", (field.path for field in fields)))
    yield from _of_key(where, schema, {field.json.get("id"): field for field in fields})
    highest = max(fields, key=lambda field: field.json.get("id") or 0, default=None)
    if highest is not None and last is not None and (highest.json.get("id") or 0) > last:
        yield f"{where} has field {highest.path} with the id {highest.json['id']}, and `last-column-id` is {last}"


def _without_fields(where: str, parent: _Json) -> Iterator[str]:
    """PyIceberg takes it for one without any, and an order of none is no order."""
    if "fields" not in parent:
        yield f"{where}: `fields` is missing"


def _of_key(where: str, schema: _Json, fields: Mapping[Any, _Field]) -> Iterator[str]:
    for field_id in schema.get("identifier-field-ids") or ():
        field = fields.get(field_id)
        if field is None:
            yield f"{where}: its key has field {field_id}, which is not in it"
        elif not field.json.get("required") or field.json.get("type") in ("float", "double") or not field.single:
            yield f"{where}: its key has field {field.path}, which is optional, a float or no single value"


def _of_spec(
    spec: _Json, columns: Mapping[Any, _Field] | None, current: Mapping[Any, _Field], last: int | None, last_id: Any
) -> Iterator[str]:
    where, fields = f"partition spec {spec.get('spec-id')}", spec.get("fields") or []
    yield from _without_fields(where, spec)
    yield from (f"{where}: {words}" for words in odd_items(spec, "fields", PARTITION_FIELD))
    yield from (f"{where}: {words}" for words in _doubled("fields", "name", (field.get("name") for field in fields)))
    ids = [field["field-id"] for field in fields if field.get("field-id") is not None]
    yield from (f"{where}: {words}" for words in _doubled("fields", "id", ids))
    if last_id is not None and ids and max(ids) > last_id:
        yield f"{where} has the field id {max(ids)}, and `last-partition-id` is {last_id}"
    named = {field.path: column_id for column_id, field in current.items()}
    for field in fields:
        name, source = field.get("name"), field.get("source-id")
        yield from _of_source(where, field, columns, current, last)
        # Of what is not written by any more, the column may have been dropped, and another one have its name.
        if columns is not None and not _is_void(field) and source is not None and named.get(name, source) != source:
            yield f"{where}: field {name} is of column {source}, and column {named[name]} has that name"


def _of_order(order: _Json, columns: Mapping[Any, _Field] | None, last: int | None) -> Iterator[str]:
    order_id, fields = order.get("order-id"), order.get("fields") or []
    where = f"sort order {order_id}"
    yield from _without_fields(where, order)
    yield from (f"{where}: {words}" for words in odd_items(order, "fields", SORT_FIELD))
    if bool(fields) == (order_id == _UNSORTED):
        yield f"{where} has {len(fields)} fields: {_UNSORTED} is the order of tables without one, and of no others"
    for field in fields:
        yield from _of_source(where, field, columns, {}, last)


def _of_source(
    where: str, field: _Json, columns: Mapping[Any, _Field] | None, current: Mapping[Any, _Field], last: int | None
) -> Iterator[str]:
    """The column that a field is made of: of what is written by now it must be there, of others it may be dropped."""
    source, transform = field.get("source-id"), parse_transform(str(field.get("transform")))
    if source is None or _is_void(field):
        return
    if columns is not None and source not in columns:
        yield f"{where} is made of column {source}, which no schema has by now"
    if columns is None and last is not None and source > last:
        yield f"{where} is made of column {source}, and `last-column-id` is {last}"
    if (column := (columns or current).get(source)) is None:
        return
    if isinstance(column.json.get("type"), dict) or not column.single:
        yield f"{where} is made of column {column.path}, which has no single value"
        return
    kind = _primitive(column.json)
    if kind is not None and not isinstance(transform, UnknownTransform) and not transform.can_transform(kind):
        yield f"{where} is made by {transform} of column {column.path}, which is {kind}"


def _is_void(field: _Json) -> bool:
    """Format 1 keeps so the place of a field that is gone."""
    return isinstance(parse_transform(str(field.get("transform"))), VoidTransform)


def _primitive(field: _Json) -> PrimitiveType | None:
    try:
        kind = NestedField.model_validate({"name": "", "required": False, **field}).field_type
    except ValueError:  # a type that PyIceberg does not know
        return None
    return kind if isinstance(kind, PrimitiveType) else None
