"""What attempts that came to nothing leave behind, and how it goes."""
