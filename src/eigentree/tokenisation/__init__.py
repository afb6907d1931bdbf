"""From raw text to the words of sentences, with the characters that each word comes from."""
