"""A broker of this machine: what `lakehouse up` starts where there is no other."""
