"""Text and trees: reading, cleaning and transforming; standard library only."""
