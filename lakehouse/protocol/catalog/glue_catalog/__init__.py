"""AWS Glue Data Catalog: its own commits, table by table, each swapped by Glue's version of the table."""
