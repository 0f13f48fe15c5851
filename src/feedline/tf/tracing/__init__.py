"""Tracing: a function on tensors, called once with symbolic ones, becomes a graph of the calls that it made."""
