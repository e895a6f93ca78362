"""Google's, Azure's and Alibaba's stores, over gcsfs, adlfs and ossfs.

Begin with `google_options` and `azure_account`: the catalog options that each client gets, and those that it
finds by itself.
"""
