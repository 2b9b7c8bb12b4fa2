"""Names the causes of a kernel's time: what can be changed, where, and what that would save.

A `Profile` comes in; a `Diagnosis` goes out. `evidence/` gathers what is known, the `detectors/` of each group read it and advise
in the `words/` of the kernel's language, `find.py` asks them and adds up, and `order.py` ranks what they find.
"""
