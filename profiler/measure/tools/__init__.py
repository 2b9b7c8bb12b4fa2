"""Other people's programs: where nvcc, ncu and the sanitizers are, how they are run, and what they say."""
