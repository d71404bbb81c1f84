"""Pure functions on text: redaction of secrets, escaping, terminal layout, amounts for people."""
