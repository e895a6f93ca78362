"""A warehouse on S3 or a store that speaks like it.

Begin with `s3_options`, what catalog options mean, and `s3_files`.
"""
