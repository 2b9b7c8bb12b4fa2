"""The page of `prof report`: findings in, one self-contained HTML document out.

Nothing in it asks anybody for anything, and its policy forbids it. Without JavaScript it is one long page.
"""

from profiler.present.page.contents import Contents, KernelPart, PairPart
from profiler.present.page.render import render_page

__all__ = ["Contents", "KernelPart", "PairPart", "render_page"]
