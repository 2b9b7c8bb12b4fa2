"""Collections: a kernel on its way to a committed run, or a program of the user's own."""
