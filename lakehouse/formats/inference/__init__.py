"""What a declaration could say: from a sample of records, or from the schema that a registry has."""
