"""The version, where every room can read it."""

__all__ = ["VERSION"]

VERSION = "0.1.0.dev0"
