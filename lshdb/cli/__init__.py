"""The command line: each command opens the file, calls one method, and prints."""
