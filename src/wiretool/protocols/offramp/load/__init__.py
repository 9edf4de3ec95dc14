"""The load part of Offramp: the users that Locust runs, and the blocking clients behind them."""
