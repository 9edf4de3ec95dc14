"""Captures to tables and reports: here, or on Spark.

`flows/` deals segments out by flow and reads each flow by itself; `stream/` does so for captures that grow, batch by
batch; `spark/` runs both on Spark; `report/` and `sql.py` query the tables. See docs/architecture.md.
"""
