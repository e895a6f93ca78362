"""Which rows of overlapping files survive, by their keys: Paimon's merge, with numpy. And deletion vectors.

Begin with `model` (what is asked and answered), then `survive`. `native.bitmap` asks, here or in Spark's
tasks.
"""
