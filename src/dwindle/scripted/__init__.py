"""The scripted agent, `python -m dwindle.scripted SCRIPT`: a program that follows a script."""
