"""The topic of all flights."""

from lakehouse import Start, Stream, ToTable

flights = Stream(name="flights", topic="flights", route=ToTable("raw.flights"), start=Start.earliest())
