"""The causes of a kernel's time as data: what `prof show --format json` holds under `causes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct, field

from profiler.analyse.importance import Importance
from profiler.catalog.causes import BY_NAME, NOTHING_TO_GAIN, UNOPTIMISED
from profiler.catalog.causes.sureness import Sureness, how_sure
from profiler.store.tables.decoding import decodable
from profiler.text import saving, short_place

WhereIs = Literal["line", "instruction", "kernel", "unrecorded"]
_OF_THE_KERNEL = ("launch", NOTHING_TO_GAIN)
# A busy unit is no ceiling if a tenth of the time, or of its own work, could be saved, such as by moving only the bytes that are used.
NOT_AT_A_CEILING = 0.1
# Causes hide each other if removing both saves this much more of the time than removing one after the other would: the work of each needs
# nearly all of the time by itself.
HIDING_EACH_OTHER = 0.1
# Figures in the `evidence` of a cause that decide the order of the causes.
WAITING_FOR_TILES = "waiting_for_tiles_pct"  # for loads of tiles that the same turn of a loop uses
IN_A_REGISTER = "loaded_again_pct"  # the part of the loaded bytes that each lane could keep in a register
CONVERTING_FLOATS = (
    "float_conversions_pct"  # the part of the instructions by which floats become doubles, or doubles floats
)
LOADED_DIFFERENCES = "differences_of_loaded_doubles"  # how many instructions subtract one double from another
IN_ANY_FUNCTIONS = "in_any_functions_pct"  # the part of the doubles that functions, divisions and roots make


class FullerRun(Struct, frozen=True):
    """The stored run of the same kernel that holds what a recording lacks."""

    name: Annotated[str, Meta(description="The name, or the run_id, that `show` takes.")]
    recorded: str


class Headline(Struct, frozen=True, omit_defaults=True):
    """The answer in three sentences: what was measured, why it is so, and what to do next.

    The other fields record what the sentences already contain, such as a cause or a metric, so that the rest of an answer does not
    repeat it.
    """

    what: str
    why: str
    next: str
    explains: Annotated[
        str | None, Meta(description="The cause of which `why` has the whole sentence, if any.")
    ] = None
    gives: Annotated[tuple[str, ...], Meta(description="The metrics whose values `why` gives.")] = ()
    advises_on: Annotated[
        str | None,
        Meta(description="The cause of which `next` has the advice, or its first sentences, if any."),
    ] = None
    tells_how_to_record: Annotated[
        bool, Meta(description="Whether `next` says how to record what is not recorded.")
    ] = False
    tells_what_without_lines: Annotated[
        bool, Meta(description="Whether `next` or `note` says what to do where no source lines are known.")
    ] = False
    note: Annotated[
        str, Meta(description="What to do about a kernel of which no source lines are known, beside `next`.")
    ] = ""


class CodePlace(Struct, frozen=True, omit_defaults=True):
    """An instruction or a source line. `share_pct` is of what the cause is about, such as waiting or wasted sectors; a kernel's signature has none."""

    opcode: str
    offset: int
    share_pct: float
    file: str | None = None
    line: int | None = None
    text: str | None = None
    inlined_at: Annotated[
        str | None,
        Meta(
            description="Where the kernel calls the function of this line, if the compiler put its code there."
        ),
    ] = None


class Savings(Struct, frozen=True):
    """Estimates and bounds what removing the cause saves, in percent of the kernel's time."""

    expected: Annotated[
        float, Meta(description="An estimate; docs/track-record.md says how good it has been.")
    ]
    at_most: Annotated[float, Meta(description="A bound: what remains needs at least the rest of the time.")]
    limited_by: Annotated[
        str | None, Meta(description="The resource that needs the rest, such as dram or fma, where one does.")
    ] = None
    together: Annotated[
        float | None,
        Meta(
            description="An estimate for this change and those of the causes before it, where there are any."
        ),
    ] = None

    def __str__(self) -> str:
        most = saving(self.at_most)
        bound = "" if most.startswith(">") else f", and at most {most} %"
        return f"likely to save {saving(self.expected)} % of the time{bound}"


class Cause(Struct, frozen=True):
    """Something in the code that can be changed. `prof causes` describes each name."""

    cause: str
    sentence: str
    try_: str = field(name="try")
    saves_pct: Savings
    where: Annotated[list[CodePlace], Importance(96, each=2)]
    evidence: dict[str, float]
    where_is: Annotated[
        WhereIs,
        Meta(
            description="What `where` holds: source lines; instructions, where no line is recorded; for a cause of the whole kernel, "
            "the lines that have most of it, or that of the signature, whose share is 0, or nothing; or nothing, because no instruction of it is recorded."
        ),
    ] = "unrecorded"

    def __str__(self) -> str:
        """Returns its name and place, what it is, and what its change is likely to save, as a person reads it."""
        saves = "" if self.is_ceiling else f" ({self.saves_pct})"
        return f"{name_and_place(self)}{saves}: {self.sentence}"

    @property
    def is_ceiling(self) -> bool:
        return is_ceiling(self.cause)


# Names what a recording lacks if it counts no instructions.
UNCOUNTED = "which instructions ran how often"
# The parts of a kernel that a recording can show: how busy its resources are, which instructions ran, what their accesses cost,
# and where warps wait.
Seen = Literal["resources", "instructions", "accesses", "waits"]


@decodable
class Diagnosis(Struct, frozen=True):
    """The named causes of a kernel's time, and what else was found out about it.

    `sees` says what the recording contains, and `unseen` what it lacks for a fuller diagnosis.
    `busy` is how much each resource is used, as a share of what is within reach.
    `others` and `left_out` are causes that are not named, with what removing each would save, in percent. Those in `left_out` are worth a
    change, but come after the named ones. Most of the `others` cost too little; a comparison needs them to know whether a cause was there at
    all.
    `taken` gives for each cause the time that its work or its waiting takes, in percent. Where other work hides a part of it, removing the
    cause saves less.
    """

    causes: list[Cause]
    unseen: list[str]
    duration_ns: float | None = None  # of the launches of the shape that takes most of the time
    launches: int = 0
    sees: list[Seen] = []
    busy: dict[str, float] = {}
    shown: str = ""  # what counters alone show, for a headline that has no cause to name
    can_look: bool = True  # False where nothing is recorded from which a cause could be found
    others: dict[str, float] = {}
    left_out: dict[str, float] = {}
    taken: dict[str, float] = {}

    def saves(self, cause: str) -> float:
        """Returns what removing a cause would save, in percent, whether it is named or not; 0 where nothing of it was found."""
        named = {one.cause: one.saves_pct.expected for one in self.causes}
        return named.get(cause, self.others.get(cause, 0.0))

    def taken_ns(self, cause: str) -> float:
        """Returns the time that the work or the waiting of a cause takes, whether other work hides it or not."""
        return self.taken.get(cause, self.saves(cause)) / 100 * (self.duration_ns or 0.0)

    @property
    def sureness(self) -> Sureness | None:
        """Returns how sure the first cause is; None where blind tests had no such recording, or no such answer.

        All their recordings showed everything, and too few of their kernels were compiled for debugging.
        """
        if not self.causes or set(self.sees) < set(get_args(Seen)):
            return None
        first = self.causes[0]
        return how_sure(first.cause, first.saves_pct.expected) if first.cause != UNOPTIMISED else None

    def could_show(self, cause: Cause, of: Diagnosis) -> bool:
        """Returns whether this recording could show the `cause` that another one shows; if not, its absence means nothing.

        A recording that holds more may lack what the other only guessed from totals.
        """
        if cause.is_ceiling and cause.saves_pct.limited_by not in self.busy:
            return False
        return set(self.sees) == set(of.sees)


def is_ceiling(cause: str) -> bool:
    """Returns whether the cause says that a resource is used as far as it can be, so that nothing is to be gained."""
    return BY_NAME[cause].group == NOTHING_TO_GAIN


def where_is(cause: str, where: Sequence[CodePlace], blames_lines: bool = False) -> WhereIs:
    """Returns what kind of places `where` holds. A cause of the launch, or a ceiling, has none to blame, unless it `blames_lines`.

    Such places only show where the kernel is busiest, if work is to be shared out, or else the line of its signature.
    """
    if BY_NAME[cause].group in _OF_THE_KERNEL and not blames_lines:
        return "kernel"
    if not where:
        return "unrecorded"
    return "line" if where[0].line else "instruction"


def name_and_place(cause: Cause) -> str:
    """Returns `bank-conflicts at kernel.cu:66`, or the name alone where no line is to blame."""
    return f"{cause.cause} at {place_text(cause.where[0])}" if has_place(cause) else cause.cause


def place_text(place: CodePlace) -> str:
    """Returns the whole place in a form that fits a sentence."""
    return short_place(whole_place_text(place))


def whole_place_text(place: CodePlace) -> str:
    """Returns `kernel.cu:66`, or the instruction's offset where no line is known."""
    return (
        f"{place.file}:{place.line}"
        if place.file and place.line
        else f"offset {place.offset:#x} ({place.opcode})"
    )


def has_place(cause: Cause) -> bool:
    """Returns whether a line or an instruction is to blame."""
    return bool(cause.where) and cause.where_is in ("line", "instruction")
