"""The service: models behind HTTP, JSON in and out, a page for the browser.

One process answers requests and never parses; worker processes parse, hold the models and may be
killed at any time (`crew`).  `app` has the routes, `guard` is around all of them, `limits` is what
a request may ask for, `server` opens the port.
"""
