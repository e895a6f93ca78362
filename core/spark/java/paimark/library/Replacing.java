package paimark.library;

/** What of a table a write replaces. */
enum Replacing {
    NOTHING,
    /** Some partitions: those that are named, or those that rows come for. */
    PARTITIONS,
    ALL
}
