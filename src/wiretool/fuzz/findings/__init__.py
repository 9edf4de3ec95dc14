"""Findings: investigated, grouped, written as folders and reports, and replayed."""
