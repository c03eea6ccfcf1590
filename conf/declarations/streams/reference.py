"""The topic on which all reference data arrives mixed; a field of each record says which kind it is."""

from lakehouse import ByField, Start, Stream

reference = Stream(
    name="reference",
    topic="reference",
    route=ByField(
        "record_type",
        {
            "weather": "raw.weather",
            "planes": "raw.planes",
            "airports": "raw.airports",
            "airlines": "raw.airlines",
        },
    ),
    start=Start.earliest(),
)
