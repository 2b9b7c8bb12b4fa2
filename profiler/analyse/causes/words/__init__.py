"""Says in each language that a kernel can be written in what advice has to name, such as the index of a thread.

The name of a language comes in, and a `Words` goes out (`every.py`). `words.py` says what each language has to name, and one module
each says how CUDA C++, Numba, Julia and the CuTe DSL do. `triton.py` has whole sentences, because a change is another one there.
"""
