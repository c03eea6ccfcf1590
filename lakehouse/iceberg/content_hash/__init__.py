"""What rows hold, whatever their order and files: a few numbers to compare."""
