"""`run`, `derive`, `release`, `plan`, `apply`."""
