"""The benchmark: what the server does in a second, beside its own empty end point and the bare database."""


class BenchError(Exception):
    """Something did not work or was not right: figures taken so would mean nothing."""
