"""Users for Locust that all protocols share. Importing any module here imports Locust.

Those of a protocol are in `protocols/NAME/load/users.py`.
"""
