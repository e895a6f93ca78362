"""A warehouse on S3 or a store that speaks like it.

Begin with `s3_options`, the meaning of catalog options, and `s3_files`.
"""
