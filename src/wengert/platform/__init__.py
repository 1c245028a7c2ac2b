"""The process and its machine: settings, what this build computes with, devices that are absent.

Behind the names at the root of the package that are about the machine: `wengert.set_num_threads`
and its like, `wengert.cuda`, `wengert.mps`, ...
"""
