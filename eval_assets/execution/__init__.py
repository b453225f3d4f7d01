"""Asking a target many times: bounded, cancellable, and never twice for what has finished. Knows no kind of target."""
