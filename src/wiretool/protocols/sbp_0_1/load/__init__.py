"""The load part of SBP v0.1: the users that Locust runs, and the blocking clients behind them."""
