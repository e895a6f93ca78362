"""Google's, Azure's and Alibaba's stores, over gcsfs, adlfs and ossfs.

Begin with `google_options` and `azure_account`: which catalog options each client is told, and what it finds
for itself.
"""
