"""The tables of a stream: which of them take records, and which wait until somebody has mended something."""
