"""Commands of the dependency parser."""
