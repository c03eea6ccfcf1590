"""How a command ends, for whoever called it from a program; 0 is good."""

PROMISE_BROKEN = 1
COULD_NOT_RUN = 2
READER_GONE = 141  # as a shell says it of a program that the closed pipe has ended
