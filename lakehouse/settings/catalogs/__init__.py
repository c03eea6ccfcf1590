"""What a file of `conf/catalogs/` means to PyIceberg and to Iceberg in Java: one table of keys for both."""
