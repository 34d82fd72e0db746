"""The benchmarks, a module each, and the command that runs them; their results are in results/."""
