"""Live replies compared with recorded ones: differences, expectations and verdicts."""
