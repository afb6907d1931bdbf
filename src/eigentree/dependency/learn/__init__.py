"""Learning head automata, lexical modifiers and relations."""
