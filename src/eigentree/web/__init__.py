"""The web service: models behind HTTP with JSON requests and responses, and a page for browsers.

One process answers requests and never parses.  Worker processes hold the models and parse; they
may be killed at any time (`worker_pool`).  `app` defines the routes, `middleware` wraps all of
them, `limits` bounds requests, and `server` opens the port.
"""
