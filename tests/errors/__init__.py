"""What every operator refuses, a module per family; test_errors.py goes through it.

A module has the rows of ERRORS, each with a call, what it raises and how the message begins, and
in UNWRITTEN the arrays that these calls give for results. FAULTS are arguments that are each wrong
on their own, in the order in which they are reported; of each function, with its call, where the
family has several. Where OP names the only one, ERRORS leave its name out, GIVEN are arguments
that are fine, call makes a call with them but for some, and ACCEPTED are others that are fine; and
TAKES say of its arrays what is accepted: their faults come before those of a plain list of FAULTS.
"""
