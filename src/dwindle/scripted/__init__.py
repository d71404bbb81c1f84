"""The scripted agent: `python -m dwindle.scripted SCRIPT`, a program that does as it is told."""
