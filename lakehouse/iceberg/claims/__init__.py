"""What a manifest claims of a file, by which readers leave the file out or read it."""
