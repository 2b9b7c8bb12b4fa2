"""What arithmetic is for, and how often it is done: functions that only a comparison needs, divisions, and what turns or blocks repeat.

Each module answers one question. They read `flow/` and `evidence/`, and the detectors read them.
"""
