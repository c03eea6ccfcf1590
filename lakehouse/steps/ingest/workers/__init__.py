"""What happens within Spark's tasks: read, decode, route, judge, write, count."""
