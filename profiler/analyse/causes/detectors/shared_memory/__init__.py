"""Detects causes in the accesses to shared memory: passes that collide, trips that nothing needs, and too little reuse.

An `Evidence` comes in; `Candidate`s go out.
"""
