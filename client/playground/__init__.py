"""One page on loopback, to try decisions by hand: what a model answers as one types, and what it read for that."""
