"""Benchmarks of relvec, run by ``python -m benchmarks NAME``."""
