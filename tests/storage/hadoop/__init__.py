"""HDFS with all that an administrator adds: Kerberos, a standby NameNode, safe mode, quotas, permissions.

Begin with `secure_server`.
"""
