"""Single rows put right in Spark, with stock Paimon as the judge."""
