"""Stock Paimon for Java as the judge of what Paimark writes and reads.

Begin with `judge`. Skipped, and said so, without a JDK and Maven.
"""
