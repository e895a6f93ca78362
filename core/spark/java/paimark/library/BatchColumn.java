package paimark.library;

import org.apache.paimon.data.columnar.BooleanColumnVector;
import org.apache.paimon.data.columnar.ByteColumnVector;
import org.apache.paimon.data.columnar.BytesColumnVector;
import org.apache.paimon.data.columnar.DecimalColumnVector;
import org.apache.paimon.data.columnar.DoubleColumnVector;
import org.apache.paimon.data.columnar.FloatColumnVector;
import org.apache.paimon.data.columnar.IntColumnVector;
import org.apache.paimon.data.columnar.LongColumnVector;
import org.apache.paimon.data.columnar.ShortColumnVector;
import org.apache.paimon.data.columnar.TimestampColumnVector;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeChecks;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A column of a batch of Paimon's as one of Spark's, without copies. Only for types that are not nested. */
final class BatchColumn extends ColumnVector {
    private final int precision;
    private final boolean isTime;
    private org.apache.paimon.data.columnar.ColumnVector values;

    BatchColumn(DataType type) {
        super(SparkTypes.of(type));
        boolean isTimestamp = type.getTypeRoot().name().startsWith("TIMESTAMP");
        precision = isTimestamp ? DataTypeChecks.getPrecision(type) : -1;
        isTime = type.getTypeRoot().name().startsWith("TIME_");
    }

    static boolean has(DataType type) {
        switch (type.getTypeRoot()) {
            case ARRAY: case MAP: case MULTISET: case ROW: case VARIANT: case BLOB: return false;
            default: return !type.getTypeRoot().name().equals("VECTOR");
        }
    }

    BatchColumn of(org.apache.paimon.data.columnar.ColumnVector vector) {
        values = vector;
        return this;
    }

    public void close() {}
    public boolean hasNull() { return true; }
    public int numNulls() { return 1; }
    public boolean isNullAt(int i) { return values.isNullAt(i); }
    public boolean getBoolean(int i) { return ((BooleanColumnVector) values).getBoolean(i); }
    public byte getByte(int i) { return ((ByteColumnVector) values).getByte(i); }
    public short getShort(int i) { return ((ShortColumnVector) values).getShort(i); }
    public int getInt(int i) { return ((IntColumnVector) values).getInt(i); }
    public long getLong(int i) {
        if (precision >= 0) {
            return ((TimestampColumnVector) values).getTimestamp(i, precision).toMicros();
        }
        return isTime ? ((IntColumnVector) values).getInt(i) * 1_000_000L : ((LongColumnVector) values).getLong(i);
    }
    public float getFloat(int i) { return ((FloatColumnVector) values).getFloat(i); }
    public double getDouble(int i) { return ((DoubleColumnVector) values).getDouble(i); }
    public Decimal getDecimal(int i, int p, int s) {
        return isNullAt(i) ? null : RowValues.decimal(((DecimalColumnVector) values).getDecimal(i, p, s));
    }
    public UTF8String getUTF8String(int i) {
        if (isNullAt(i)) {
            return null;
        }
        BytesColumnVector.Bytes bytes = ((BytesColumnVector) values).getBytes(i);
        return UTF8String.fromBytes(bytes.data, bytes.offset, bytes.len);
    }
    public byte[] getBinary(int i) {
        return isNullAt(i) ? null : ((BytesColumnVector) values).getBytes(i).getBytes();
    }
    public ColumnarArray getArray(int i) { throw new UnsupportedOperationException(); }
    public ColumnarMap getMap(int i) { throw new UnsupportedOperationException(); }
    public ColumnVector getChild(int i) { throw new UnsupportedOperationException(); }
}
