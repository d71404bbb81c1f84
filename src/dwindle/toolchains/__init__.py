"""Pure knowledge of test tools: what steers them, how they are counted, where a recipe leads."""
