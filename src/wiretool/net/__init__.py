"""The only sockets: `serving/` hosts mocks and taps, `calling/` connects to servers, `programs/` starts programs."""
