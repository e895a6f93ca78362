"""The only code that touches a warehouse's files: local, S3, HDFS, or anything that fsspec opens.

Begin with `files`, which says what a store can do; `open` makes one from an address.
"""
