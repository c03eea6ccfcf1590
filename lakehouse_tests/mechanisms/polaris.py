"""What keeps a Polaris server as its file says, and its secrets where they belong."""

from lakehouse.polaris import CredentialsNotKept
from lakehouse_tests.mechanisms.mechanism import Function, Mechanism, gives, ignores

_FILE = "polaris/test_credentials_file.py::"


def _whatever_the_server_says(_: Function) -> Function:
    return lambda api, response: response.text


POLARIS = (
    Mechanism(
        name="private file",
        promise="P1: Whoever reads the file of credentials writes tables past every protocol.",
        keeps="lakehouse.polaris.credentials_file:CredentialsFile._read",
        lets_pass=ignores(CredentialsNotKept),
        guard=_FILE + "test_a_file_that_others_may_read_is_refused_unread",
    ),
    Mechanism(
        name="variable of one principal",
        promise="P1: One principal's credential takes the place of another's, whose rights are others.",
        keeps="lakehouse.polaris.credentials_file:CredentialsFile._refuse_shared",
        lets_pass=gives(None),
        guard=_FILE + "test_two_principals_share_no_variable",
    ),
    Mechanism(
        name="file before principal",
        promise="P5: A principal is made, and its only credential, which Polaris tells once, is lost.",
        keeps="lakehouse.polaris.applying:file_for",
        lets_pass=gives(None),
        guard="polaris/test_applying.py::test_a_new_principal_needs_a_file_before_anything_is_done",
    ),
    Mechanism(
        name="storage that is fixed",
        promise="P5: Half of a plan is carried out before Polaris refuses the rest of it.",
        keeps="lakehouse.polaris.plan:_fixed",
        lets_pass=gives(()),
        guard="polaris/test_applying.py::test_where_something_is_refused_nothing_is_done",
    ),
    Mechanism(
        name="own words of a server",
        promise="P1: A server that repeats a secret has it shown on a screen and in a log.",
        keeps="lakehouse.polaris.management:PolarisApi._words",
        lets_pass=_whatever_the_server_says,
        guard="polaris/test_management.py::test_a_wrong_credential_is_told_without_it",
    ),
)
