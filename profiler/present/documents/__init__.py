"""Makes documents: a finding comes in, a document goes out, with one file for each kind of answer.

The words and their order are decided here, once for every format.
"""
