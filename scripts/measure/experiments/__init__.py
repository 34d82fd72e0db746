"""What an index finds, beside brute force or beside its S-curve."""
