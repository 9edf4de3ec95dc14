"""The protocols, one folder each: messages, framing and session rules, and a part for each engine.

`base/` has the interface to the engines and the registry, which finds protocols by their entry points.
"""
