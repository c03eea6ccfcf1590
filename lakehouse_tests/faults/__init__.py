"""What goes wrong around a lakehouse, injected: power, disks, clocks, credentials, logs, and each other."""
