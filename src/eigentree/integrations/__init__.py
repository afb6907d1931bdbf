"""Results in the terms of other libraries: NLTK, spaCy, pandas and Jupyter."""
