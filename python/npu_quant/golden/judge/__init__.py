"""The only room that decides: rungs, ties, tolerances, which formulas pass, what is refused."""
