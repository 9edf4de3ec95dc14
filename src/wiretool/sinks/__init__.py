"""Where Records go: text for people, JSON and CSV for programs, captures for other tools."""
