"""What looking after tables costs and brings: predictions, proofs, rewrites, and ways to distribute rows over files."""
