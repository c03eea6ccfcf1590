"""What a step seals: the statement about the stream, the verdicts on its records, and whether the branch holds that."""
