"""Tests of consistency models."""
