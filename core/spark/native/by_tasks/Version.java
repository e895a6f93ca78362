import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** A version of a row: which file's, which row of it, and how new it is. */
public final class Version {
    /** The column that says what a version does to its key. */
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

    /** The type of {@code KIND}: Avro has no smaller numbers. */
    public static DataType kindType(String format) {
        return format.equals("avro") ? DataTypes.IntegerType : DataTypes.ByteType;
    }

    /** Whether the row, whose {@code KIND} is at this place, takes its key away. */
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

    /** `number` is the place of its file among them by age where all of a file are newer than all of another. */
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
