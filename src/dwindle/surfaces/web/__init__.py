"""The page of `dwindle serve`. Needs the extra `web`; no other command imports any of it."""
