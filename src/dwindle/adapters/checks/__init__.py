"""Checks that a machine can run: commands and files."""
