"""Find which rows of overlapping files survive: Paimon's merge by key, with numpy. And deletion vectors.

Begin with `model` (input and output), then `survive` and `pieces`. `native.bitmap` calls this package.
"""
