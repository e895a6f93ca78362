"""The demo warehouse that `paimark demo` builds, and that the README and many tests use.

Begin with `build`.
"""
