"""What a stock engine does after a commit, or with a tag, beside what Paimon's own readers need.

Begin with `options`; `iceberg` reads the metadata that stock commits keep for Iceberg readers.
"""
