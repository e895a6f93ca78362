"""`readStream` and `writeStream` of the data source `paimark`: each row once, whoever dies when.

Begin with `reader` and `writer`; `following` says what is read next, `landing` whether a batch is in the
table.
"""
