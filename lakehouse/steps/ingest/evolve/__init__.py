"""Tables that follow their records: what is changed of them before a step writes, and what stops one."""
