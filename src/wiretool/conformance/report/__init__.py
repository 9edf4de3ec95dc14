"""Reports on conformance runs: text, JSON, JUnit, SARIF, HTML, a badge."""
