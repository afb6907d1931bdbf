"""What every room uses: compiled kernels, processes, chances, shapes."""
