"""What a person does to a stream: give offsets up, adopt rows, read again, take refused records up."""
