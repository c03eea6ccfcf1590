"""What keeps the promises: each mechanism by name, the function that keeps it, and the test that misses it.

`python -m lakehouse_tests.mechanisms` breaks them one by one and shows that the test of each fails.
"""
