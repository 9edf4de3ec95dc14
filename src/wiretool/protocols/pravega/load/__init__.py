"""The load part of Pravega: the users that Locust runs, and the blocking clients behind them."""
