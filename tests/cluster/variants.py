"""Any number of different reports: the shipped ones, each with another name of the processor in it."""

_PROCESSOR = b"Xeon(R) Processor"  # as long as what replaces it: nothing else in the file moves


def write_variants(report, folder, count):
    """`count` reports that differ from each other in nothing that is measured, and in their hash."""
    whole = report.read_bytes()
    assert _PROCESSOR in whole
    paths = [folder / f"{report.stem}-{number}.ncu-rep" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_bytes(whole.replace(_PROCESSOR, b"Xeon(R) P%08d" % number))
    return paths
