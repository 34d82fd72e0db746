"""What commands of the core print and do for this app."""
