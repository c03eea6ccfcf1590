"""Which table a record names: there, to be made first, or refused; and never more than there is room for."""

from lakehouse.declarations import ToNamed
from lakehouse.formats.decoded import Observed
from lakehouse.steps.ingest.workers.decoder_selection.named_tables import NamedTables


def test_a_value_names_a_table_that_is_there_one_to_be_made_or_none() -> None:
    route = ToNamed(like="e.any", namespaces=("e",), table="e.{}", names="[A-Za-z]+", most_tables=4, made=("e.a",))
    named, observed = NamedTables(route, ["e.other"], {"e.no": "the catalog refused"}), Observed()

    def why(value: str) -> str:
        return named.refusal(value, "`t`", observed).message

    assert (named.tables("a"), named.tables("any"), named.tables("b")) == (("e.a",), ("e.any",), ())
    assert why("b") == why("b") == "`t` names a table that is not made yet"
    assert why("B") == "`t` names a table as another one is called, but for the case"
    assert why("A") == "`t` names a table as another one is called, but for the case"
    assert why("Other") == "`t` names a table that something else writes"
    assert why("no") == "`t` names a table that cannot be made: the catalog refused"
    assert why("_") == "`t` names a table that does not match `names`"
    assert why("c") == why("d") == "`t` names a table that is not made yet"
    assert why("f") == "`t` names one table more than 4"
    assert dict(observed.unmade) == {"e.b": 2, "e.c": 1, "e.d": 1}
