"""Other people's programs: where nvcc and ncu are, how every program is started and ended, and what its output means.

In: a command. Out: its output, exit code and progress; or an error with the command and its last lines.
"""
