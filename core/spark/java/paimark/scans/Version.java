package paimark.scans;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** A version of a row: its file, its row in the file, and its age. */
public final class Version {
    /** The column with the kind of a row: whether it adds or retracts its key. */
    public static final String KIND = "_VALUE_KIND";

    public final Values key;
    public final Values fields;
    public Object file;
    public int age;
    public long row;
    public long number;
    public boolean retracts;

    public Version(MergeRules rules) {
        this.key = new Values(rules.keyKinds);
        this.fields = new Values(rules.sequenceKinds);
    }

    /** The type of {@code KIND}. Avro has no smaller numbers than integers. */
    public static DataType kindType(String format) {
        return format.equals("avro") ? DataTypes.IntegerType : DataTypes.ByteType;
    }

    /** Whether a row, whose {@code KIND} is at this index, retracts its key. */
    public static boolean retracts(InternalRow row, int place, String format) {
        if (row.isNullAt(place)) {
            return false;
        }
        int kind;
        if (format.equals("avro")) {
            kind = row.getInt(place);
        } else {
            kind = row.getByte(place);
        }
        return kind == 1 || kind == 3;
    }

    public void copy(Version from) {
        key.copy(from.key);
        fields.copy(from.fields);
        file = from.file;
        age = from.age;
        row = from.row;
        number = from.number;
        retracts = from.retracts;
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
