"""The engine, the data source and streaming, with a real Spark.

Begin with `engine_fixture`: one Spark for the whole suite.
"""
