"""Tests of the page, a package so that fixtures can have its scope."""
