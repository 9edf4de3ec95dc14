"""The processes of a load, and the course of a run."""
