"""What tries to break lshdb: killed processes, many processes, hostile input, damaged files."""
