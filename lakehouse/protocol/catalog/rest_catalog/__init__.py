"""An Iceberg REST catalog (Polaris): its answers, its patience, and the keys that it lends."""
