"""The load part of SBP: the users that Locust runs, and the blocking clients behind them."""
