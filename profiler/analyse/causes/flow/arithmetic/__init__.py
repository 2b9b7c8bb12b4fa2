"""Says what the results of arithmetic are used for, and which results are computed more often than needed.

Each module answers one question. They read `flow/` and `evidence/`, and the detectors read them.
"""
