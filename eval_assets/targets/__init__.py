"""What is evaluated: one file per wire format or kind, and the only place that waits on a network."""
