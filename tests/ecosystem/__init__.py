"""Packages that build on PyTorch, on wengert: a small program for each; see report.py."""
