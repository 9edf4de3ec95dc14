"""The load part of Pravega's draft of 2017: the users that Locust runs, and the blocking clients behind them."""
