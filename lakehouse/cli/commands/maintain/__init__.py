"""`maintain`, `housekeep`, `lease`, `checkpoint`, `retire`."""
