"""One function for each question: a person names runs, a ladder or a report, and a finding comes out.

In: what was named, and the `Settings` that say which runs and which ladder. Out: a finding of `analyse`.
Commands, MCP, the page, `prof check`, notebooks and the Python interface all ask here, so that there is one answer.
"""
