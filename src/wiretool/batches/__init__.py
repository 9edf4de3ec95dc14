"""What the column path gives out: columns of many frames, and how they become Records again."""
