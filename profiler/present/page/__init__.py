"""The page of `prof report`: findings come in, one self-contained HTML document goes out.

The page requests nothing from anywhere, and its policy forbids requests. Without JavaScript, it is one long
page.
"""

from profiler.present.page.contents import Contents, KernelPart, PairPart
from profiler.present.page.render import render_page

__all__ = ["Contents", "KernelPart", "PairPart", "render_page"]
