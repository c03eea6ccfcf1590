"""Jobs of AWS: EMR Serverless and Glue, by botocore. Installed by the extra `aws`."""
