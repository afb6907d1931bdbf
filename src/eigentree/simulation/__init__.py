"""Known grammars and samples from them."""
