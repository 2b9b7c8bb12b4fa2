"""Presents findings: a finding comes in; text, a page or a chart goes out.

Nothing here reads a store or writes a file.
"""

from typing import Literal

Format = Literal["table", "json", "markdown", "csv"]
