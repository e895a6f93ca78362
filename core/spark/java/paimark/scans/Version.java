package paimark.scans;

import org.apache.spark.sql.catalyst.InternalRow;

/** A version of a row, and its age. */
public final class Version {
    public final Values key;
    public final Values fields;
    public int age;
    public long number;
    public boolean retracts;

    public Version(MergeRules rules) {
        this.key = new Values(rules.keyKinds);
        this.fields = new Values(rules.sequenceKinds);
    }

    /** Whether a row, whose kind is at this index, retracts its key. */
    public static boolean retracts(InternalRow row, int place) {
        int kind = row.isNullAt(place) ? 0 : row.getByte(place);
        return kind == 1 || kind == 3;
    }

    /** {@code number} is the sequence number; if the ages of files don't overlap, it is the file's rank by age. */
    public boolean isNewer(Version other, boolean isDescending) {
        int order = fields.compare(other.fields, isDescending);
        if (order == 0) {
            order = Long.compare(number, other.number);
        }
        if (order == 0 && retracts != other.retracts) {
            return other.retracts;
        }
        return order == 0 ? age > other.age : order > 0;
    }
}
