"""Old changes go, once a checkpoint stands for them."""
