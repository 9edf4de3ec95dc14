"""The split points of capture files, and the parts between them."""
