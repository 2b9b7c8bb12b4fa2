"""`python -m profiler` is `prof`, also where it is not installed."""

from profiler.cli import main

if __name__ == "__main__":
    main()
