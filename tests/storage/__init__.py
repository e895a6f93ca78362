"""Every store keeps the same promises: local, a real S3 server, a real HDFS.

Begin with `test_files`, and `stores` for the server that misbehaves on request.
"""
