"""Shared by the whole package: compiled kernels, processes, random numbers, shape checks."""
