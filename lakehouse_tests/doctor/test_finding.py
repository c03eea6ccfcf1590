from lakehouse.doctor.finding import refused
from lakehouse.errors import LakehouseError


def test_an_error_of_ours_keeps_its_remedy_apart() -> None:
    finding = refused("java", LakehouseError("There is none.", remedy="install it."))  # whoever shows it adds the stop
    assert (finding.state, finding.message, finding.remedy) == ("wrong", "There is none.", "install it")
