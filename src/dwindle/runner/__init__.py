"""The runner: carries out what the kernel decides."""
