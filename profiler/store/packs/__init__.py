"""Packs: many runs in a few files, read as if each run still had its folder."""
