"""The checks of `prof doctor`: they find out what works on this machine, and how to repair what does not.

In: a runs folder and a machine. Out: one `HealthCheck` for each thing examined, with its remedy.
"""
