"""`lakehouse polaris`: a Polaris server as it is declared in `conf/polaris/`."""
