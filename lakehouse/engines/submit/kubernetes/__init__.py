"""Jobs as SparkApplications of Apache's operator, through the API server of a cluster."""
