"""The only code that touches a warehouse's files: local, S3, HDFS, or anything that fsspec opens.

Begin with `files`, the interface of a store; `open` makes one from an address.
"""
