"""Names the causes of a kernel's time: what can be changed, where, and what that would save.

A `Profile` comes in; a `Diagnosis` goes out. `evidence.py` gathers what is known, the detectors of each group read it,
`time_model.py` estimates and bounds what a change saves, and `find.py` ranks. `suspects.py` names the units that are busy.
"""
