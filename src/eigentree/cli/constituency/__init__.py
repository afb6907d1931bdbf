"""Commands of the constituency parser."""
