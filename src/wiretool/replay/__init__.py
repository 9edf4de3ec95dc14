"""A recorded session lives again: its client sides are spoken to a server, and the answers are judged."""
