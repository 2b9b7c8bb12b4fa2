"""Runs and reports at URLs, through fsspec: listed, read, uploaded."""
