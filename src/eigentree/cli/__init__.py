"""The command line: one small file per verb, each loaded only when it is called."""
