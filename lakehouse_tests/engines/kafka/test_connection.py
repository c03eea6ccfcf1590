"""A client whose properties are wrong: the property is named, and no value that may be secret."""

import pytest
from pydantic import SecretStr

from lakehouse.engines.kafka import ClientRefused, require_broker
from lakehouse.settings import KafkaSettings

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"sasl.mechansim": "PLAIN"}, 'No such configuration property: "sasl.mechansim"'),
        (
            {"security.protocol": SecretStr(SECRET)},
            'Invalid value "***" for configuration property "security.protocol"',
        ),
        ({"ssl.key.location": "/no/such.pem", "security.protocol": "SSL"}, "ssl.key.location"),
    ],
)
def test_a_property_that_is_wrong_is_named(properties: dict[str, str | SecretStr], says: str) -> None:
    with pytest.raises(ClientRefused) as caught:
        require_broker(KafkaSettings(bootstrap_servers="127.0.0.1:1", properties=properties))
    assert says in caught.value.message
    assert "conf/kafka" in caught.value.remedy
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
