"""An hour of `lakehouse dev`: streams and mirrors, a catch-up, kills; what it costs, and whether anything was lost."""
