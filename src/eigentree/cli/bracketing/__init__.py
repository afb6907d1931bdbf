"""Commands of unsupervised bracketing."""
