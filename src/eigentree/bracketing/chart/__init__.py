"""Charts of unlabelled binary trees: span marginals, best trees and minimum evolution."""
