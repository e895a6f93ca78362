"""Read and write with Spark, which runs in a separate process: the engine.

Begin with `protocol`, the messages between the two processes. `client` is the side of the console and the
command; `launch`, `engine`, `native`, `merging`, `results` and `writing` run in the engine; `source`,
`datasource` and `streaming` are the data source `paimark`, for a Spark of a user's own.
"""
