"""Seeds: sequences from captures, cases, session tables and vectors."""
