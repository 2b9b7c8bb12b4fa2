"""The skill file of `prof mcp --skill`: the loop by which an agent makes a CUDA kernel faster."""

SKILL = """\
---
name: prof
description: Make a CUDA kernel faster, or find out why a change made it slower, with recorded Nsight Compute profiles.
---

# Make a kernel faster with prof

Repeat this loop. Change one thing at a time, so that each difference has one reason.

1. **Measure.** Record a profile of the kernel as it is: `prof collect` for a kernel of a ladder, or
   `ncu --set full --import-source yes --nvtx -o before PROGRAM` for any program. Compile with `-lineinfo`.
2. **Read the cause.** `prof show before.ncu-rep --format json`. Read `headline` first: `what`, `why` and `next`. Of several
   kernels, `index` lists all by their share of the time: work on the first, and choose it with `-k NAME`. Each of its
   `causes` has `where` (file and line), `try` (what to change) and `saves_pct` (`expected` and `at_most`, in percent of
   the time). Take the cause with the largest `expected`. If none would save 5 %, stop: say so.
3. **Change.** Do what `try` says at the line in `where`, and nothing else. Check that the result is still correct.
4. **Compare.** Record again under another name, then `prof compare before.ncu-rep after.ncu-rep --format json`.
   `speedup.ratio` with its interval `speedup.ci` decides, not a utilisation. A `verdict` of `unclear` is no success:
   record more launches. Keep the change only if the whole interval is above 1. Of several kernels, `--all` compares each,
   and `index` lists them by how much their time changed.
5. **Check.** `prof check --baseline before.ncu-rep after.ncu-rep --max-slower 2%` exits 0 if nothing got worse, 1 if
   something did; then `pairs[].why` says what, `factors` how much, and `cause` has `where` and what to `try`.

Then go on with the new profile as `before`.

Rules: quote a figure with its interval. Never report a gain that `compare` does not confirm. Do not record while another
program uses the GPU. The tools `show`, `compare`, `sass`, `check` and `list` of `prof mcp` give the same answers as the commands.
"""
