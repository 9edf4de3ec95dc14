"""What load says on the wire, and what it makes of the answers: one module for each protocol."""
