"""Cases that are run against a server: one run of a case, and of many."""
