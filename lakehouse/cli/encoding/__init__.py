"""How lines that a person sends become records."""
