"""The page of `prof report`: a report comes in, one self-contained HTML document goes out.

The page requests nothing from anywhere, and its policy forbids requests. Without JavaScript, it is one long
page.
"""
