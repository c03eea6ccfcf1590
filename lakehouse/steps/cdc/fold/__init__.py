"""From changes to one row per key, by Spark: which events count, what wins, what comes late."""
