"""Isolated trees for sessions, and one integration branch, by the real git program."""
