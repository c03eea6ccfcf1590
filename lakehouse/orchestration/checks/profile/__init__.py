"""The checks of how columns are distributed: drift, histogram, samples, conversions."""
