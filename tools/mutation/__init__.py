"""Faults planted one at a time, to see that a test finds each."""
