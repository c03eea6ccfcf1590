"""What keeps somebody who may write elsewhere from starting runs here."""

from lakehouse_tests.mechanisms.mechanism import Mechanism, gives

_WEB = "web/test_server.py::"
SERVERS = (
    Mechanism(
        name="own page alone",
        promise="P5: Any web page that is open in a browser starts runs, and such a run deletes.",
        keeps="lakehouse.web.request_guard:reason_to_refuse",
        lets_pass=gives(""),
        guard=_WEB + "test_another_page_starts_nothing",
    ),
    Mechanism(
        name="no change by GET",
        promise="P5: A link or a picture of another web page starts runs.",
        keeps="lakehouse.web.server:_only_reads",
        lets_pass=gives(True),
        guard=_WEB + "test_a_get_reads_alone",
    ),
)
