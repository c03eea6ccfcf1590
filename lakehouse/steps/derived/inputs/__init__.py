"""What a derived table is computed from: pinned at one moment, agreeing, new since last time."""
