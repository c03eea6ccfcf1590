"""What the step of a mirror does: a range of a changelog, folded into the present rows of the source."""
