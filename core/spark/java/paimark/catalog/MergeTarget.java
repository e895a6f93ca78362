package paimark.catalog;

/** A table that needs to know whether rows come of a MERGE: of one that only inserts Spark makes an INSERT. */
public interface MergeTarget extends KeepsValues {
    void isMerged();
}
