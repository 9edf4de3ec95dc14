"""Named defects of mock servers, and the cases that notice them."""
