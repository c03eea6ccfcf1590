"""What records have that their table does not: seen by the decoder, so that the table may follow them."""
