"""Users for Locust, one module for each protocol. Importing any of them imports Locust."""
