"""Constituency parsing: latent-variable PCFGs, their charts, learning and parser."""
