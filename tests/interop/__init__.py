"""Tests against stock Paimon for Java, which judges Paimark's writes and reads.

Begin with `judge`. Without a JDK and Maven the tests are skipped, with the reason.
"""
