"""Places that hold runs: a folder of this machine, or a URL that fsspec knows.

In: names relative to the place, and bytes.
Out: bytes, listings, and copies of files on this machine.
Refuses names that lead out of the place; knows nothing of tables, and of runs only what an upload needs.
"""
