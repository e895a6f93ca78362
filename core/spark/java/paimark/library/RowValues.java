package paimark.library;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.DataGetters;
import org.apache.paimon.data.variant.Variant;
import org.apache.paimon.memory.MemorySegment;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeChecks;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.VectorType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.SpecializedGettersReader;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

/**
 * Paimon's rows, arrays and maps as Spark's, without copies: views that point to one value after another.
 *
 * <p>A CHAR is padded here: Spark does that where it selects rows, and not where an UPDATE or a MERGE looks for them.
 */
final class RowValues {
    private static final UTF8String BLANK = UTF8String.fromString(" ");

    private RowValues() {}

    /** With blanks up to the length of its CHAR. */
    static UTF8String padded(UTF8String text, int length) {
        return text.rpad(Math.max(length, text.numChars()), BLANK);
    }

    static UTF8String text(BinaryString text) {
        MemorySegment[] segments = text.getSegments();
        if (segments.length == 1 && !segments[0].isOffHeap()) {
            return UTF8String.fromBytes(segments[0].getArray(), text.getOffset(), text.getSizeInBytes());
        }
        return UTF8String.fromBytes(text.toBytes());
    }

    static Decimal decimal(org.apache.paimon.data.Decimal value) {
        return value.isCompact()
                ? Decimal.createUnsafe(value.toUnscaledLong(), value.precision(), value.scale())
                : Decimal.apply(value.toBigDecimal(), value.precision(), value.scale());
    }

    static final class Row extends InternalRow {
        private final DataType[] types;
        private final org.apache.spark.sql.types.DataType[] sparkTypes;
        private final Fields fields;

        Row(RowType type) {
            types = type.getFieldTypes().toArray(new DataType[0]);
            sparkTypes = new org.apache.spark.sql.types.DataType[types.length];
            for (int i = 0; i < types.length; i++) {
                sparkTypes[i] = SparkTypes.of(types[i]);
            }
            fields = new Fields(types);
        }

        Row of(DataGetters row) {
            fields.values = row;
            return this;
        }

        public int numFields() { return types.length; }
        public void setNullAt(int i) { throw new UnsupportedOperationException(); }
        public void update(int i, Object value) { throw new UnsupportedOperationException(); }

        public InternalRow copy() {
            Object[] copied = new Object[types.length];
            for (int i = 0; i < copied.length; i++) {
                copied[i] = isNullAt(i) ? null : InternalRow.copyValue(get(i, sparkTypes[i]));
            }
            return new GenericInternalRow(copied);
        }

        public boolean isNullAt(int i) { return fields.values.isNullAt(i); }
        public boolean getBoolean(int i) { return fields.values.getBoolean(i); }
        public byte getByte(int i) { return fields.values.getByte(i); }
        public short getShort(int i) { return fields.values.getShort(i); }
        public int getInt(int i) { return fields.values.getInt(i); }
        public long getLong(int i) { return fields.number(i); }
        public float getFloat(int i) { return fields.values.getFloat(i); }
        public double getDouble(int i) { return fields.values.getDouble(i); }
        public Decimal getDecimal(int i, int p, int s) { return decimal(fields.values.getDecimal(i, p, s)); }
        public UTF8String getUTF8String(int i) { return fields.text(i); }
        public byte[] getBinary(int i) { return fields.bytes(i); }
        public CalendarInterval getInterval(int i) { throw new UnsupportedOperationException(); }
        public org.apache.spark.unsafe.types.GeographyVal getGeography(int i) { throw new UnsupportedOperationException(); }
        public org.apache.spark.unsafe.types.GeometryVal getGeometry(int i) { throw new UnsupportedOperationException(); }
        public VariantVal getVariant(int i) { return fields.variant(i); }
        public InternalRow getStruct(int i, int n) { return fields.row(i); }
        public ArrayData getArray(int i) { return fields.array(i); }
        public MapData getMap(int i) { return fields.map(i); }
        public Object get(int i, org.apache.spark.sql.types.DataType type) {
            return isNullAt(i) ? null : SpecializedGettersReader.read(this, i, type, true, true);
        }
    }

    static final class Array extends ArrayData {
        private final org.apache.spark.sql.types.DataType sparkType;
        private final Fields fields;
        private org.apache.paimon.data.InternalArray values;

        Array(DataType element) {
            sparkType = SparkTypes.of(element);
            fields = new Fields(element);
        }

        Array of(org.apache.paimon.data.InternalArray array) {
            values = array;
            fields.values = array;
            return this;
        }

        public int numElements() { return values.size(); }
        public ArrayData copy() { return new GenericArrayData(array()); }
        public Object[] array() {
            Object[] copied = new Object[values.size()];
            for (int i = 0; i < copied.length; i++) {
                copied[i] = isNullAt(i) ? null : InternalRow.copyValue(get(i, sparkType));
            }
            return copied;
        }
        public void setNullAt(int i) { throw new UnsupportedOperationException(); }
        public void update(int i, Object value) { throw new UnsupportedOperationException(); }
        public boolean isNullAt(int i) { return values.isNullAt(i); }
        public boolean getBoolean(int i) { return values.getBoolean(i); }
        public byte getByte(int i) { return values.getByte(i); }
        public short getShort(int i) { return values.getShort(i); }
        public int getInt(int i) { return values.getInt(i); }
        public long getLong(int i) { return fields.number(i); }
        public float getFloat(int i) { return values.getFloat(i); }
        public double getDouble(int i) { return values.getDouble(i); }
        public Decimal getDecimal(int i, int p, int s) { return decimal(values.getDecimal(i, p, s)); }
        public UTF8String getUTF8String(int i) { return fields.text(i); }
        public byte[] getBinary(int i) { return fields.bytes(i); }
        public CalendarInterval getInterval(int i) { throw new UnsupportedOperationException(); }
        public org.apache.spark.unsafe.types.GeographyVal getGeography(int i) { throw new UnsupportedOperationException(); }
        public org.apache.spark.unsafe.types.GeometryVal getGeometry(int i) { throw new UnsupportedOperationException(); }
        public VariantVal getVariant(int i) { return fields.variant(i); }
        public InternalRow getStruct(int i, int n) { return fields.row(i); }
        public ArrayData getArray(int i) { return fields.array(i); }
        public MapData getMap(int i) { return fields.map(i); }
        public Object get(int i, org.apache.spark.sql.types.DataType type) {
            return isNullAt(i) ? null : SpecializedGettersReader.read((SpecializedGetters) this, i, type, true, true);
        }
    }

    static final class Map extends MapData {
        private final Array keys;
        private final Array items;

        Map(DataType key, DataType item, org.apache.paimon.data.InternalMap map) {
            keys = new Array(key).of(map.keyArray());
            items = new Array(item).of(map.valueArray());
        }

        public int numElements() { return keys.numElements(); }
        public ArrayData keyArray() { return keys; }
        public ArrayData valueArray() { return items; }
        public MapData copy() { return new ArrayBasedMapData(keys.copy(), items.copy()); }
    }

    /** What differs by Paimon's type. One type is for all elements of an array. */
    private static final class Fields {
        private static final byte PLAIN = 0, TIMESTAMP = 1, TIME = 2, CHAR = 3;
        final DataType[] types;
        private final byte[] kinds;
        private final int[] precisions;
        DataGetters values;

        Fields(DataType... types) {
            this.types = types;
            kinds = new byte[types.length];
            precisions = new int[types.length];
            for (int i = 0; i < types.length; i++) {
                switch (types[i].getTypeRoot()) {
                    case TIMESTAMP_WITHOUT_TIME_ZONE:
                    case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                        kinds[i] = TIMESTAMP;
                        precisions[i] = DataTypeChecks.getPrecision(types[i]);
                        break;
                    case TIME_WITHOUT_TIME_ZONE:
                        kinds[i] = TIME;
                        break;
                    case CHAR:
                        kinds[i] = CHAR;
                        precisions[i] = DataTypeChecks.getLength(types[i]);
                        break;
                    default:
                }
            }
        }

        private int at(int i) { return types.length == 1 ? 0 : i; }

        long number(int i) {
            int field = at(i);
            switch (kinds[field]) {
                case TIMESTAMP: return values.getTimestamp(i, precisions[field]).toMicros();
                case TIME: return values.getInt(i) * 1_000_000L;
                default: return values.getLong(i);
            }
        }

        UTF8String text(int i) {
            UTF8String text = RowValues.text(values.getString(i));
            return kinds[at(i)] == CHAR ? padded(text, precisions[at(i)]) : text;
        }

        byte[] bytes(int i) {
            return types[at(i)].getTypeRoot() == org.apache.paimon.types.DataTypeRoot.BLOB
                    ? values.getBlob(i).toData() : values.getBinary(i);
        }

        VariantVal variant(int i) {
            Variant variant = values.getVariant(i);
            return new VariantVal(variant.value(), variant.metadata());
        }

        // Nested values get views of their own: Spark may hold several of one column at once.
        InternalRow row(int i) {
            RowType type = (RowType) types[at(i)];
            return new Row(type).of(values.getRow(i, type.getFieldCount()));
        }

        ArrayData array(int i) {
            DataType type = types[at(i)];
            return type instanceof VectorType
                    ? new Array(((VectorType) type).getElementType()).of(values.getVector(i))
                    : new Array(((ArrayType) type).getElementType()).of(values.getArray(i));
        }

        MapData map(int i) {
            DataType type = types[at(i)];
            return type instanceof MultisetType
                    ? new Map(((MultisetType) type).getElementType(), new IntType(), values.getMap(i))
                    : new Map(((MapType) type).getKeyType(), ((MapType) type).getValueType(), values.getMap(i));
        }
    }
}
