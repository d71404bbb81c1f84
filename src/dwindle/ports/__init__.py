"""What the inside needs from the outside: Protocols, and the plain values that pass through them.

Only seams that have two implementations stand here: the real one under `adapters`, and a double
with behaviour under `testing`.
"""
