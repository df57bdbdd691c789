"""What the tests of checkpoints share: small models, what must become of them, and faults.

Nothing here comes from the package's own reader, writer or arithmetic.
"""
