"""What analysts and models read: the feature tables of one vintage."""

from lakehouse import Release

analytics = Release(
    name="analytics",
    members=(
        "features.hourly_weather",
        "features.airport_load",
        "features.route_days",
        "features.route_history",
        "features.carrier_fleet",
        "features.training",
    ),
    description="Features of flights from New York City, and the training table that is made of them.",
    owner="demo",
)
