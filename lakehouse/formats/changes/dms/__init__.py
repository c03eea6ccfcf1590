"""AWS DMS's messages: records of data and of control, positions, values."""
