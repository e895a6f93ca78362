package paimark.catalog;

/** A table that takes no value which Spark's own assignment would round or cut: {@link Lossless}. */
public interface KeepsValues {}
