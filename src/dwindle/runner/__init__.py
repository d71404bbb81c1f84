"""Where wishes meet the world."""
