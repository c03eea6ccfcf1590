"""A mirror kept by ours and by the form of aws-samples: bytes written, CPU, time, and what reading costs afterwards."""
