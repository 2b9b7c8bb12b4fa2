"""How documents show a verdict: in which tone, by which mark, and in which words."""

from __future__ import annotations

from profiler.analyse.findings import Reason, VerdictName
from profiler.catalog.metrics import Direction
from profiler.present.document import Tone

VERDICT_TONE: dict[VerdictName, Tone] = {
    "better": "good",
    "worse": "bad",
    "changed": "plain",
    "unclear": "warn",
    "same": "quiet",
}
VERDICT_MARK = {"same": "=", "unclear": "?"}  # for places that have no room for the word


def verdict_text(
    verdict: VerdictName, reason: Reason, change: float, better: Direction | None = "lower"
) -> str:
    """Returns a verdict in words. A change without an interval that is larger than launches differ by is called likely."""
    if reason != "beyond_launches":
        return verdict
    if better is None:
        return "likely changed"
    return f"likely {'better' if (change < 0) == (better == 'lower') else 'worse'}"
