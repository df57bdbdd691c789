"""What every operator refuses, a module per family; test_errors.py goes through it.

A module has the rows of ERRORS, each with a call, what it raises and how the message begins, and
in UNWRITTEN the arrays that these calls give for results. FAULTS are, of each function, a call and
arguments that are each wrong on their own, in the order in which they are reported. ACCEPTED are
calls whose arguments are of unusual kinds and fine. The tables of an operator leave out its name.
"""
