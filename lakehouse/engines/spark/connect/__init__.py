"""Spark Connect: our own server, one that somebody else has started, and sessions on either."""
