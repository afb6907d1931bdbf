"""What is known of single words: tags and word classes."""
