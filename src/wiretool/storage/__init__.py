"""Captures and tables by URL: in object storage, and on web servers.

`url_path.py` is the form in which a URL passes through commands and engines. `object_stream.py` reads one object
forward, with bounded retries; `stores.py` and `web.py` are the two kinds of objects that it reads.
"""
