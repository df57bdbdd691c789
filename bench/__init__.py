"""One harness for all operators: against the memory limit and against peers, in one run.

``python -m bench`` from the project's root, after ``make bench`` has built the yardstick.
"""
