"""S3 by its own client: what its calls cost, and which of its answers say that a write was not done.

Begin with `test_s3`.
"""
