"""A whole ladder: where every rung stands, and what each step was worth."""
