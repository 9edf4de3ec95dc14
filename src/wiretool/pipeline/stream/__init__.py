"""A folder of captures that grow, made into tables batch by batch, each exactly once."""
