"""What all rooms use: generated documents, measured commands."""
