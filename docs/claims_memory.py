"""The claims about vectorised accesses (figures of an A100) and about lookups and RMSNorm (figures of an RTX 3050)."""

from collections.abc import Callable

from claims import Claim, Recorded, Verdict, decide, factor, step

_MEMORY = ("dram_bytes_per_s", "max_bandwidth_pct", "l1_hit_pct", "l2_hit_pct", "mem_pipes_busy_pct")
_SAME = 0.01  # of a time
_LITTLE = 0.05


def _twofold(recorded: Recorded) -> Verdict:
    peak = recorded.change("copy", 1, 3, "max_bandwidth_pct")
    gain = recorded.times("copy", 1, 3)
    return factor(gain, 2.0, f"copy: {peak[0]:.0f} → {peak[1]:.0f} % of peak, {gain:.2f}x")


def _speeds(ladder: str) -> Callable[[Recorded], str]:
    return lambda recorded: (
        ", ".join(f"{recorded.gbs(ladder, kernel):,.0f}" for kernel in (1, 2, 3)) + " GB/s"
    )


def _instructions_not_bytes(recorded: Recorded) -> Verdict:
    narrow, starved = recorded.times("copy-variants", 1, 3), recorded.times("copy-variants", 2, 4)
    pipe = recorded.mean("copy-variants", 1, "lsu_pipe_pct")
    text = (
        f"as many narrow accesses with four times the bytes under way: {narrow:.2f}x; float4 with a quarter of the bytes "
        f"under way: {starved:.2f}x; the LSU pipe is {pipe:.0f} % busy with one float a thread"
    )
    return decide(narrow < 1.05 and starved > 0.95, text)


def _gelu(recorded: Recorded) -> Verdict:
    gelu, copy = recorded.times("gelu", 1, 2), recorded.times("copy", 1, 3)
    return decide(gelu < copy, f"GELU {gelu:.2f}x, copy {copy:.2f}x")


def _why_sums(recorded: Recorded) -> str:
    fewer = recorded.change("sum", 1, 2, "inst_executed")
    dram = recorded.change("sum", 1, 2, "dram_throughput_pct")
    issue = recorded.mean("sum", 1, "issue_active_pct")
    return (
        f"DRAM {dram[0]:.0f} → {dram[1]:.0f} % busy, {fewer[0] / fewer[1]:.1f}x fewer instructions, which issue in "
        f"{issue:.0f} % of the cycles before"
    )


def _restrict(recorded: Recorded) -> Verdict:
    widths = {kernel: recorded.mean("copy-variants", kernel, "load_width_bits") for kernel in (7, 8, 9)}
    cast = recorded.mean("copy-variants", 2, "load_width_bits")
    text = (
        f"bits a load: plain {widths[7]:.0f}, `__restrict__` {widths[8]:.0f}, and with a promise about the alignment "
        f"{widths[9]:.0f}; a cast to float4 {cast:.0f}"
    )
    by_themselves = max(widths[8], widths[9]) > 32
    return Verdict(
        "reproduced" if by_themselves and cast > 32 else "depends" if cast > 32 else "contradicted", text
    )


def _shared_vectors(recorded: Recorded) -> Verdict:
    """Judges a tile that is staged by vectors, and then read by vectors too, of which each serves four results."""
    staged, read = recorded.times("tile", 1, 2), recorded.times("tile", 2, 3)
    text = f"tile staged by 128 bits {staged:.3f}x; read by 128 bits too, four results a thread {read:.3f}x"
    is_little = [gain < 1 + _LITTLE for gain in (staged, read)]
    return decide(all(is_little), text, "depends" if any(is_little) else "contradicted")


def _other_vectors(recorded: Recorded) -> Verdict:
    gains = [recorded.times("copy-variants", 2, kernel) for kernel in (5, 6)]
    same = all(abs(gain - 1) < _SAME for gain in gains)
    return decide(same, f"int4 {gains[0]:.3f}x, double2 {gains[1]:.3f}x as fast as float4")


def _not_split(recorded: Recorded) -> Verdict:
    found = [recorded.check("faults", kernel)["verdict"] for kernel in (1, 2, 3)]
    is_split = "correct" not in found
    return decide(is_split, "an H200 faults on each" if set(found) == {"correct"} else ", ".join(found))


def _second_from_l1(recorded: Recorded) -> Verdict:
    hits = recorded.mean("embedding", 2, "l1_hit_pct")
    gain = recorded.times("embedding", 2, 4)
    return decide(40 <= hits <= 55, f"L1 hit rate {hits:.0f} %; without its help {gain:.3f}x as fast")


def _scheduler(recorded: Recorded) -> Verdict:
    busy = recorded.mean("embedding", 1, "issue_active_pct")
    waits = recorded.mean("embedding", 1, "stall_long_scoreboard") / recorded.mean(
        "embedding", 1, "warp_latency"
    )
    return decide(
        busy > 60,
        f"issues in {busy:.0f} % of the cycles; {100 * waits:.0f} % of a warp's time waits for memory",
    )


def _hits_of_cp_async(recorded: Recorded) -> str:
    return f"L1 hits of cp.async {recorded.mean('embedding', 6, 'l1_hit_pct'):.1f} %"


def _rmsnorm(recorded: Recorded) -> Verdict:
    gain = recorded.times("rmsnorm", 1, 2)
    fair = recorded.times("rmsnorm-variants", 1, 2)
    text = f"{gain:.2f}x; against a scalar kernel whose stride the compiler knows {gain / fair:.2f}x"
    return factor(gain / fair, 1.53, text)


def _fused(recorded: Recorded) -> Verdict:
    own = max(recorded.pct("embedding-rmsnorm", kernel) for kernel in (2, 7, 8))
    eager, default, tuned = (own / recorded.pct("embedding-rmsnorm", kernel) for kernel in (3, 4, 6))
    text = f"{eager:.2f}x eager, {default:.2f}x torch.compile, {tuned:.3f}x with max-autotune, tokens in their order"
    return Verdict(
        "reproduced" if min(eager, default, tuned) > 1 else "depends" if eager > 1 else "contradicted", text
    )


def _half_arithmetic(recorded: Recorded) -> Verdict:
    wrong, right = recorded.check("rmsnorm-variants", 3), recorded.check("rmsnorm-variants", 1)
    text = f"relative error {wrong['relative_error']:.1e} with sums in FP16, {right['relative_error']:.1e} in FP32"
    return decide(wrong["verdict"] == "wrong" and wrong["relative_error"] > 2 * right["relative_error"], text)


def _five_figures(recorded: Recorded) -> Verdict:
    for kernel in (1, 2, 3):
        for metric in _MEMORY:
            recorded.mean("rmsnorm", kernel, metric)
    peak = recorded.change("rmsnorm", 1, 2, "max_bandwidth_pct")
    return decide(
        peak[1] > peak[0],
        f"recorded of every rung; Max Bandwidth {peak[0]:.0f} → {peak[1]:.0f} % with the time",
    )


VECTORS = (
    Claim("V1", "From float to float4 a kernel goes from 39 to 78 % of peak, twice as fast.", "prof compare --ladder copy 1 3", _twofold),
    Claim("V2", "A copy by float, float2 and float4 reaches 1,420, 1,720 and 1,870 GB/s.", "prof ladder copy --ideas", step("copy", 2, 3, more=_speeds("copy"))),
    Claim("V3", "The reason is that the LSU issues instructions, not bytes.", "prof ladder copy-variants", _instructions_not_bytes),
    Claim("V4", "GELU gains less than a copy, as it computes more.", "prof ladder gelu --ideas", _gelu),
    Claim("V5", "ReLU in FP16 by one, two and eight halves reaches 920, 1,410 and 1,840 GB/s.", "prof ladder relu-fp16 --ideas", step("relu-fp16", 2, 3, more=_speeds("relu-fp16"))),
    Claim("V6", "A sum gains 1.32x by moving data faster, not by fewer instructions.", "prof compare --ladder sum 1 2", step("sum", 2, more=_why_sums)),
    Claim("V7", "Layer norm gains 1.46x at batch 512, hidden 4096.", "prof ladder layernorm --ideas --set-param rows=512", step("layernorm", 2, rows=512, hidden=4096)),
    Claim("V8", "Structures read as float4 are bad; arrays read as float4 are best.", "prof ladder particles --ideas", step("particles", 2, 3, 4)),
    Claim("V9", "The width can be chosen at launch by size and alignment; a tail handles the rest.", "prof ladder scale --ideas", step("scale", 2)),
    Claim("V10", "A misaligned vector access silently becomes scalar on some GPUs.", "prof verify --ladder faults", _not_split),
    Claim("V11", "`__restrict__` and hints may vectorise by themselves; casts are more reliable.", "prof ladder copy-variants", _restrict),
    Claim("V12", "Vector accesses help shared memory little.", "prof ladder tile --ideas", _shared_vectors),
    Claim("V13", "int4, double2 and the other vector types behave alike.", "prof ladder copy-variants", _other_vectors),
)  # fmt: skip

ROWS = (
    Claim("E1", "Two float4 copies back to back are 1.15x as fast as coalesced scalars.", "prof ladder embedding --ideas", step("embedding", 2)),
    Claim("E2", "float4 parameters with one copy a thread are slower than a cast and two.", "prof ladder embedding --ideas", step("embedding", 11)),
    Claim("E3", "The second float4 comes from the L1.", "prof show --ladder embedding 2", _second_from_l1),
    Claim("E4", "The scheduler is the bottleneck of the scalar kernel.", "prof show --ladder embedding 1", _scheduler),
    Claim("E5", "Unrolling gains nothing; shared memory and cp.async lose, and cp.async hits the L1 in 2.94 %.", "prof ladder embedding --ideas", step("embedding", 4, 5, 6, more=_hits_of_cp_async)),
    Claim("E6", "RMSNorm by half2 and shared memory gains 1.53x.", "prof ladder rmsnorm-variants", _rmsnorm),
    Claim("E7", "Lookup and RMSNorm in one kernel beat eager PyTorch and torch.compile.", "prof ladder embedding-rmsnorm", _fused),
    Claim("E8", "Arithmetic in half precision must never be done.", "prof verify --ladder rmsnorm-variants", _half_arithmetic),
    Claim("E9", "The five figures of MemoryWorkloadAnalysis judge such kernels.", "prof ladder rmsnorm", _five_figures),
    Claim("E10", "An activation belongs into the epilogue of the product before it.", "prof ladder epilogue", step("epilogue", 2)),
)  # fmt: skip
