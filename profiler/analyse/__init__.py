"""Pure functions: tables of a recording come in, findings go out.

Nothing here opens a file or formats text. `findings.py` and the classes beside each analysis are the JSON contract;
`importance.py` says what the short form of each keeps.
"""
