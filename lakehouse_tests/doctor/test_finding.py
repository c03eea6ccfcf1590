from lakehouse.doctor.finding import refused
from lakehouse.errors import LakehouseError


def test_an_error_of_ours_keeps_its_remedy_apart() -> None:
    found = refused("java", LakehouseError("There is none.", remedy="install it"))
    assert (found.state, found.message, found.remedy) == ("wrong", "There is none.", "install it")
