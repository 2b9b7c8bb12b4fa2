"""Packs: many runs in a few files, read as if each run still had its folder.

In: runs in folders of their own, or in smaller packs.
Out: packs, and the files of the runs in them.
Refuses a pack that changed since it was written; removes a run's folder only once a verified pack holds it.
"""
