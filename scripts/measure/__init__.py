"""What measures lshdb and tries to break it; scripts/README.md lists every script."""
