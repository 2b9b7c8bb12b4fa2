"""How sure a difference is, and what may be said of it."""
