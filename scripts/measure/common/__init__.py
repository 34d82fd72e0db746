"""What all rooms use: generated documents, measured commands, exact answers by brute force."""
