"""The claims about the GEMM ladder. Published figures are of an RTX A6000, although they are often quoted as an H100's."""

from claims import Claim, NotRecordedError, Recorded, Verdict, decide, factor

from profiler.analyse.compare.attribution import STALLS
from profiler.analyse.ladder.ideas import is_as_claimed

_PUBLISHED_PCT = {4: 36.5, 5: 68.7, 6: 78.4, 7: 84.8, 8: 93.7}
_SIZES = (1024, 2048, 4096, 8192)
_STEPS_OF_CHASE = 65536
_SHARED_RUNGS = range(3, 9)  # FP32 rungs that read shared memory by loads of their own


def _percent_of_cublas(recorded: Recorded) -> Verdict:
    here = {kernel: recorded.pct("gemm", kernel) for kernel in _PUBLISHED_PCT}
    far = [str(kernel) for kernel, pct in _PUBLISHED_PCT.items() if not is_as_claimed(here[kernel], pct)]
    text = ", ".join(f"{here[kernel]:.1f} ({pct})" for kernel, pct in _PUBLISHED_PCT.items())
    outside = f"; beyond a tenth: rung {', '.join(far)}" if far else ""
    elsewhere = "".join(
        f"; on an {one.gpu} {', '.join(f'{rung.reference_pct:.1f}' for rung in one.kernels if rung.kernel in here)}"
        for one in recorded.climb("gemm").finding.elsewhere
    )
    return decide(not far, f"% of cuBLAS here (claimed): {text}{outside}{elsewhere}", "depends")


def _pipes(recorded: Recorded) -> Verdict:
    names = ("issue_active_pct", "fma_pipe_pct", "lsu_pipe_pct")
    changes = [recorded.change("gemm", 5, 6, name) for name in names]
    text = ", ".join(f"{name} {a:.1f} → {b:.1f}" for name, (a, b) in zip(names, changes, strict=True))
    up, fma, lsu = ((b > a) for a, b in changes)
    return decide(up and fma and not lsu, text)


def _share_of_instructions(recorded: Recorded) -> Verdict:
    pipe = recorded.change("gemm-variants", 1, 2, "lsu_pipe_pct")
    share = recorded.change("gemm-variants", 1, 2, "lsu_inst_share_pct")
    published = (28.8, 17.1)
    distance = [sum(abs(a - b) for a, b in zip(pair, published, strict=True)) for pair in (pipe, share)]
    text = (
        f"the plain pair: {pipe[0]:.1f} → {pipe[1]:.1f} % of the pipe's peak, {share[0]:.1f} → {share[1]:.1f} % of the "
        "instructions; published 28.8 → 17.1"
    )
    return decide(distance[1] < distance[0], text)


def _throttle(recorded: Recorded) -> Verdict:
    plain = recorded.change("gemm-variants", 1, 2, "stall_mio_throttle")
    own = recorded.change("gemm", 5, 6, "stall_mio_throttle")
    fall, claimed = plain[0] / plain[1], 0.59 / 0.02
    text = (
        f"plain pair {plain[0]:.2f} → {plain[1]:.2f}, {fall:.0f}x less ({claimed:.0f}x claimed); rungs 5 and 6 "
        f"{own[0]:.2f} → {own[1]:.2f} cycles an issue"
    )
    return factor(fall, claimed, text)


def _vector_opcodes(recorded: Recorded) -> Verdict:
    before, after = recorded.loop("gemm", 5), recorded.loop("gemm", 6)
    loads = [
        " + ".join(f"{one.count / (sheet.steps or 1):.0f} {one.opcode}" for one in operand.loads)
        for sheet in (before, after)
        for operand in sheet.operands
        if operand.name == "A"
    ]
    wide = recorded.executed("gemm", 6, "LDG.E.128.CONSTANT") + recorded.executed("gemm", 6, "LDG.E.128")
    text = f"A's loads {' → '.join(loads)} per k-step; LDG.E.128 {'there' if wide else 'not there'} in rung 6"
    return decide(loads == ["8 LDS", "2 LDS.128"] and wide > 0, text)


def _loads_of_b(recorded: Recorded) -> Verdict:
    sides = []
    for kernel in (5, 6):
        sheet = recorded.loop("gemm", kernel)
        loads = next((one.loads for one in sheet.operands if one.name == "B"), [])
        sides.append(" + ".join(f"{one.count / (sheet.steps or 1):.0f} {one.opcode}" for one in loads))
    return decide(sides[0] != sides[1], f"{sides[0]} per k-step before, {sides[1]} after")


def _never_vectorises(recorded: Recorded) -> Verdict:
    shared = recorded.executed("gemm", 5, "LDS.128")
    width = recorded.mean("copy-variants", 7, "load_width_bits")
    text = f"shared memory: {shared:,.0f} LDS.128 in rung 5, whose source loads floats; global memory: {width:.0f} bits"
    if not shared:
        return Verdict("reproduced", text)
    return Verdict("depends" if width == 32 else "contradicted", text)


def _not_one_byte(recorded: Recorded) -> Verdict:
    sectors = recorded.change("gemm", 5, 6, "l2_sectors")
    dram = recorded.change("gemm", 5, 6, "dram_bytes_read")
    copy = recorded.change("copy", 1, 3, "dram_bytes_read")
    rises = [100 * (b / a - 1) for a, b in (sectors, dram, copy)]
    text = f"rungs 5 to 6: L2 sectors {rises[0]:+.1f} %, DRAM reads {rises[1]:+.1f} %; copy, float to float4: {rises[2]:+z.1f} %"
    unchanged = [abs(one) < 1 for one in rises]
    return Verdict("reproduced" if all(unchanged) else "depends" if any(unchanged) else "contradicted", text)


def _instruction_cache(recorded: Recorded) -> Verdict:
    a, b = recorded.change("gemm", 5, 6, "stall_no_instruction")
    return decide(b < a, f"stall_no_instruction {a:.3f} → {b:.3f} cycles an issue")


def _bank_conflicts(recorded: Recorded) -> Verdict:
    loads = recorded.executed("gemm-variants", 2, "LDS.128")
    stores = recorded.executed("gemm-variants", 2, "STS")
    if not loads or not stores:
        raise NotRecordedError("opcodes")
    a = recorded.mean("gemm-variants", 2, "shared_load_wavefronts") / loads
    conflicts = recorded.mean("gemm-variants", 2, "shared_store_conflicts") / stores
    own = recorded.mean("gemm", 6, "shared_load_conflicts") / recorded.executed("gemm", 6, "LDS.128")
    text = (
        f"the published layout: {a:.2f} passes for each LDS.128, and {conflicts:.2f} extra passes for each STS; "
        f"rung 6: {own:.2f} extra passes for each LDS.128"
    )
    return decide(
        max(a, conflicts + 1) >= 4.5, text, "depends" if max(a, conflicts + 1) > 1.1 else "contradicted"
    )


def _sizes(recorded: Recorded) -> Verdict:
    gains = {size: recorded.times("gemm", 5, 6, m=size, n=size, k=size) for size in _SIZES}
    text = ", ".join(f"{gain:.3f}x at {size}" for size, gain in gains.items())
    return decide(max(gains.values()) / min(gains.values()) > 1.02, text)


def _dual_issue(recorded: Recorded) -> Verdict:
    most = 0.0
    for rung in recorded.climb("gemm").rungs:
        series = rung.profile.series
        if {"inst_per_cycle", "issue_active_pct"} <= series.keys():
            most = max(most, series["inst_per_cycle"].mean / (0.04 * series["issue_active_pct"].mean))
    if not most:
        raise NotRecordedError("issue rates")
    return decide(most > 1.005, f"at most {most:.4f} instructions in a cycle that issues, over all rungs")


def _ptx_widths(recorded: Recorded) -> Verdict:
    """Compares what the compiler writes into PTX with what ran: widths that only one of the two has decide."""
    opcodes = {32: "LDS", 64: "LDS.64", 128: "LDS.128"}
    ran = {
        kernel: {bits for bits, opcode in opcodes.items() if recorded.executed("gemm", kernel, opcode)}
        for kernel in _SHARED_RUNGS
    }
    lost = {kernel: set(recorded.loads_in_ptx(kernel)) - ran[kernel] for kernel in _SHARED_RUNGS}
    joined = [kernel for kernel in _SHARED_RUNGS if max(recorded.loads_in_ptx(kernel)) < max(ran[kernel])]
    texts = [
        f"rung {kernel} has loads of {' and '.join(map(str, sorted(bits)))} bits from shared memory in PTX, and none when it runs (docs/widths.py prints the PTX's)"
        for kernel, bits in lost.items()
        if bits
    ]
    if joined:
        texts.append(
            f"rungs {', '.join(map(str, joined))} have no wide ones in PTX, and LDS.128 when they run"
        )
    return decide(any(lost.values()), "; ".join(texts))


def _faults(recorded: Recorded) -> Verdict:
    found = [recorded.check("faults", kernel)["verdict"] for kernel in (1, 2, 3)]
    text = "loads and stores of global memory and loads of shared memory: " + ", ".join(
        "misaligned address" if one == "correct" else "no fault" for one in found
    )
    return decide(set(found) == {"correct"}, text)


def _last_gap(recorded: Recorded) -> Verdict:
    double, stream = recorded.pct("gemm", 9), recorded.pct("gemm", 14)
    return decide(
        double >= 100, f"{double:.1f} % of cuBLAS; with the last wave shared out along k {stream:.1f}"
    )


def _fmas_a_load(recorded: Recorded) -> Verdict:
    shared = [recorded.loop("gemm", kernel).shared for kernel in (4, 5)]
    if shared[0] is None or shared[1] is None:
        raise NotRecordedError("shared loads")
    words = [one.fmas_per_word or 0.0 for one in shared if one]
    loads = [one.fmas_per_load for one in shared if one]
    text = f"{words[0]:.2f} and {words[1]:.2f} for each element, {loads[0]:.2f} and {loads[1]:.2f} for each instruction"
    return decide(abs(words[0] - 0.9) < 0.05 and abs(words[1] - 4) < 0.05, text)


def _short_scoreboard(recorded: Recorded) -> Verdict:
    stalls = {
        name: recorded.mean("gemm", 4, name)
        for name in STALLS
        if name not in ("stall_selected", "stall_not_selected")
    }
    largest = max(stalls, key=stalls.__getitem__)
    a, b = recorded.change("gemm", 4, 5, "stall_short_scoreboard")
    text = f"largest in rung 4: {largest}, {stalls[largest]:.2f} cycles an issue; short scoreboard {a:.2f} → {b:.2f}"
    return decide(largest == "stall_short_scoreboard" and b < 0.2 * a, text)


def _traffic(recorded: Recorded) -> Verdict:
    shared = recorded.change("gemm", 4, 5, "shared_load_wavefronts")
    sectors = recorded.change("gemm", 4, 5, "l2_sectors")
    falls = shared[0] / shared[1], sectors[0] / sectors[1]
    text = f"passes of shared loads {falls[0]:.2f}x fewer, L2 sectors {falls[1]:.2f}x fewer"
    return decide(is_as_claimed(falls[0], 4) and is_as_claimed(falls[1], 2), text, "depends")


def _hoisting(recorded: Recorded) -> Verdict:
    loads = {
        kernel: sum(
            count
            for opcode, count in recorded.rung("gemm-variants", kernel)[0].profile.opcodes.items()
            if opcode.startswith("LDS")
        )
        for kernel in (1, 3, 4)
    }
    slower = 1 / recorded.times("gemm-variants", 1, 4)
    text = (
        f"operands named in place: {loads[3] / loads[1]:.2f}x the load instructions, as the compiler hoists them itself; "
        f"where it may not, {loads[4] / loads[1]:.1f}x, and {slower:.2f}x the time"
    )
    return Verdict("depends" if loads[3] <= 1.05 * loads[1] else "reproduced", text)


def _square(recorded: Recorded) -> Verdict:
    fed = []
    for kernel in (1, 5):
        shared = recorded.loop("gemm-variants", kernel).shared
        fed.append((shared.fmas_per_word or 0.0) if shared else 0.0)
    speed = recorded.times("gemm-variants", 1, 5)
    text = f"{fed[0]:.1f} FMAs for each element with 8 x 8, {fed[1]:.1f} with 16 x 4, which is {speed:.2f}x as fast all the same"
    return decide(fed[0] > fed[1], text)


def _spills(recorded: Recorded) -> Verdict:
    registers = recorded.mean("gemm-variants", 6, "registers")
    spilled = recorded.mean("gemm-variants", 6, "local_spill_inst")
    speed = recorded.times("gemm-variants", 1, 6)
    text = f"{registers:.0f} registers, {spilled:,.0f} instructions for spills a launch, {speed:.2f}x as fast as 8 x 8"
    return decide(spilled > 0 and speed < 0.8, text, "depends" if spilled else "contradicted")


def _small_block(recorded: Recorded) -> Verdict:
    small, large = recorded.pct("gemm-variants", 7), recorded.pct("gemm-variants", 1)
    text = f"{small:.1f} % of cuBLAS; the same with blocks of 128 x 128 {large:.1f} %"
    return decide(is_as_claimed(small, 68), text)


def _bound_by_hbm(recorded: Recorded) -> Verdict:
    dram, l1 = recorded.mean("gemm", 1, "dram_throughput_pct"), recorded.mean("gemm", 1, "l1_throughput_pct")
    return decide(dram > l1, f"DRAM {dram:.1f} % busy, L1 {l1:.1f} %")


def _mostly_fma(recorded: Recorded) -> Verdict:
    share = recorded.loop("gemm", 5).fma_issue_pct
    return decide(share > 50, f"{share:.0f} % of the instructions of its hot loop")


def _latency(recorded: Recorded) -> Verdict:
    cycles = {
        name: recorded.mean("latency", kernel, "cycles") / _STEPS_OF_CHASE
        for kernel, name in ((1, "shared"), (2, "L1"), (3, "L2"), (4, "device memory"))
    }
    text = ", ".join(f"{name} {value:,.0f}" for name, value in cycles.items()) + " cycles a load"
    is_near = 20 <= cycles["shared"] <= 30
    return decide(is_near and cycles["device memory"] >= 200, text, "depends")


GEMM = (
    Claim("G1", "Kernels 4 to 8 reach 36.5, 68.7, 78.4, 84.8 and 93.7 % of cuBLAS.", "prof ladder", _percent_of_cublas),
    Claim("G2", "From kernel 5 to 6 the issue slots and the FMA pipe are busier, and the LSU pipe less.", "prof compare 5 6", _pipes),
    Claim("G3", "The LSU figures are a share of the executed instructions.", "prof compare --ladder gemm-variants 1 2", _share_of_instructions),
    Claim("G4", "The MIO throttle falls from 0.59 to 0.02.", "prof compare --ladder gemm-variants 1 2", _throttle),
    Claim("G5", "Eight scalar loads of A become two of 128 bits, and global tiles are loaded by 128 bits.", "prof sass 5 6", _vector_opcodes),
    Claim("G6", "The loads of B become vectors in the same step.", "prof sass 5 6", _loads_of_b),
    Claim("G7", "The compiler never vectorises the accesses of a plain `float*` by itself.", "prof sass 5", _never_vectorises),
    Claim("G8", "Wider global loads are fewer transactions, and not one byte moves differently.", "prof compare 5 6 --full", _not_one_byte),
    Claim("G9", "A shorter stream of instructions relieves the instruction cache.", "prof compare 5 6 --full", _instruction_cache),
    Claim("G10", "Kernel 6 keeps bank conflicts of about five ways on some loads.", "prof show --ladder gemm-variants 2 --full", _bank_conflicts),
    Claim("G11", "The gain of kernel 6 over 5 depends on the size.", "prof compare 5 6 --size 1024", _sizes),
    Claim("G12", "Some instructions are issued in pairs on Hopper.", "prof show 14 --full", _dual_issue),
    Claim("G13", "PTX shows widths that the machine code does not have.", "prof sass 8", _ptx_widths),
    Claim("G14", "A misaligned access as float4 faults when it runs.", "prof verify --ladder faults", _faults),
    Claim("G15", "Double buffering by cp.async closes the last gap to cuBLAS.", "prof ladder", _last_gap),
    Claim("G16", "A shared load feeds 0.9 FMAs in kernel 4, and 4.0 in kernel 5.", "prof sass 4 5", _fmas_a_load),
    Claim("G17", "Waiting for shared memory dominates kernel 4, and drains in kernel 5.", "prof compare 4 5", _short_scoreboard),
    Claim("G18", "From 4 to 5, shared loads for each result fall to a quarter, and global ones to a half.", "prof compare 4 5", _traffic),
    Claim("G19", "Operands in registers save up to 128 loads a k-step down to 16.", "prof compare --ladder gemm-variants 3 4", _hoisting),
    Claim("G20", "A square tile gives the most FMAs for a load; 16 x 4 gives 3.2.", "prof compare --ladder gemm-variants 1 5", _square),
    Claim("G21", "A tile of 16 x 16 a thread spills, and falls off a cliff.", "prof compare --ladder gemm-variants 1 6", _spills),
    Claim("G22", "Blocks of 64 x 64 land in the high sixties of cuBLAS too.", "prof ladder gemm-variants", _small_block),
    Claim("G23", "Kernel 1 is bound by device memory.", "prof show 1 --full", _bound_by_hbm),
    Claim("G24", "The inner loop of kernel 5 is mostly multiply-adds.", "prof sass 5", _mostly_fma),
    Claim("G25", "A load from shared memory takes 20 to 30 cycles, and one from device memory hundreds.", "prof ladder latency", _latency),
)  # fmt: skip
