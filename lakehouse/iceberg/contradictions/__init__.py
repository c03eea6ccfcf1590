"""What a metadata document may not say of itself at once: Java refuses such a table, and PyIceberg does not ask."""
