"""A group of tables at one vintage: immutable tags on all members, and one pointer that names them."""
