package paimark.library;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.BinaryVector;
import org.apache.paimon.data.Blob;
import org.apache.paimon.data.DataGetters;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.InternalVector;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.data.variant.Variant;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.CharType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeChecks;
import org.apache.paimon.types.DataTypeFamily;
import org.apache.paimon.types.DataTypeRoot;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.VectorType;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

/**
 * Spark's values as Paimon's, without copies where that is possible.
 *
 * <p>Text for a CHAR column gets blanks up to its length, as Spark does it: Paimon stores what it is given, and
 * 'ab' and 'ab   ' are two keys.
 */
abstract class RowsForPaimon implements DataGetters {

    SpecializedGetters values;
    /** The column that these values are in; null for whole rows, whose columns Spark has checked. */
    String column;

    abstract DataType type(int i);

    abstract String column(int i);

    int at(int i) {
        return i;
    }

    @Override
    public boolean isNullAt(int i) {
        int at = at(i);
        if (at >= 0 && !values.isNullAt(at)) {
            return false;
        }
        if (column != null && !type(i).isNullable()) {
            throw RefusedRow.of("Column " + column + " holds a null where its type has none");
        }
        return true;
    }

    @Override
    public boolean getBoolean(int i) {
        return values.getBoolean(at(i));
    }

    @Override
    public byte getByte(int i) {
        return values.getByte(at(i));
    }

    @Override
    public short getShort(int i) {
        return values.getShort(at(i));
    }

    @Override
    public int getInt(int i) {
        boolean isTime = type(i).getTypeRoot() == DataTypeRoot.TIME_WITHOUT_TIME_ZONE;
        return isTime ? (int) (values.getLong(at(i)) / 1_000_000L) : values.getInt(at(i));
    }

    @Override
    public long getLong(int i) {
        return values.getLong(at(i));
    }

    @Override
    public float getFloat(int i) {
        return values.getFloat(at(i));
    }

    @Override
    public double getDouble(int i) {
        return values.getDouble(at(i));
    }

    @Override
    public BinaryString getString(int i) {
        UTF8String text = values.getUTF8String(at(i));
        DataType type = type(i);
        if (type.getTypeRoot() == DataTypeRoot.CHAR) {
            text = RowValues.padded(text, ((CharType) type).getLength());
        }
        return BinaryString.fromBytes(text.getBytes());
    }

    @Override
    public Decimal getDecimal(int i, int precision, int scale) {
        java.math.BigDecimal value = values.getDecimal(at(i), precision, scale).toJavaBigDecimal();
        return Decimal.fromBigDecimal(value, precision, scale);
    }

    @Override
    public Timestamp getTimestamp(int i, int precision) {
        return Timestamp.fromMicros(values.getLong(at(i)));
    }

    @Override
    public byte[] getBinary(int i) {
        byte[] bytes = values.getBinary(at(i));
        DataType type = type(i);
        if (type.is(DataTypeFamily.BINARY_STRING) && bytes.length > DataTypeChecks.getLength(type)) {
            throw RefusedRow.of("Column " + column(i) + " can't hold " + bytes.length + " bytes, only "
                    + DataTypeChecks.getLength(type));
        }
        return bytes;
    }

    @Override
    public Variant getVariant(int i) {
        VariantVal value = values.getVariant(at(i));
        return new GenericVariant(value.getValue(), value.getMetadata());
    }

    @Override
    public Blob getBlob(int i) {
        return Blob.fromData(values.getBinary(at(i)));
    }

    @Override
    public InternalVector getVector(int i) {
        VectorType type = (VectorType) type(i);
        ArrayData given = values.getArray(at(i));
        if (given.numElements() != type.getLength()) {
            throw RefusedRow.of("Column " + column(i) + " holds " + type.getLength()
                    + " values a row, and is given " + given.numElements());
        }
        // It refuses a null in it.
        OfArray array = new OfArray(column(i), type.getElementType().notNull(), given);
        for (int at = 0; at < type.getLength(); at++) {
            array.isNullAt(at);
        }
        switch (type.getElementType().getTypeRoot()) {
            case BOOLEAN: return BinaryVector.fromPrimitiveArray(array.toBooleanArray());
            case TINYINT: return BinaryVector.fromPrimitiveArray(array.toByteArray());
            case SMALLINT: return BinaryVector.fromPrimitiveArray(array.toShortArray());
            case INTEGER: return BinaryVector.fromPrimitiveArray(array.toIntArray());
            case BIGINT: return BinaryVector.fromPrimitiveArray(array.toLongArray());
            case FLOAT: return BinaryVector.fromPrimitiveArray(array.toFloatArray());
            default: return BinaryVector.fromPrimitiveArray(array.toDoubleArray());
        }
    }

    @Override
    public InternalArray getArray(int i) {
        return new OfArray(column(i), ((ArrayType) type(i)).getElementType(), values.getArray(at(i)));
    }

    @Override
    public InternalMap getMap(int i) {
        DataType type = type(i);
        MapData map = values.getMap(at(i));
        boolean counts = type instanceof MultisetType;
        DataType key = counts ? ((MultisetType) type).getElementType() : ((MapType) type).getKeyType();
        DataType item = counts ? new IntType(false) : ((MapType) type).getValueType();
        return new InternalMap() {
            @Override
            public int size() {
                return map.numElements();
            }

            @Override
            public InternalArray keyArray() {
                return new OfArray(column(i), key, map.keyArray());
            }

            @Override
            public InternalArray valueArray() {
                return new OfArray(column(i), item, map.valueArray());
            }
        };
    }

    @Override
    public InternalRow getRow(int i, int fields) {
        OfRow row = new OfRow((RowType) type(i), null).of(values.getStruct(at(i), fields));
        row.column = column(i);
        return row;
    }

    static final class OfRow extends RowsForPaimon implements InternalRow {
        private final RowType type;
        private final DataType[] types;
        private final int[] places;
        private RowKind kind = RowKind.INSERT;

        /** {@code places}: where each field stands in Spark's row, -1 for null; null: in order. */
        OfRow(RowType type, int[] places) {
            this.type = type;
            types = type.getFieldTypes().toArray(new DataType[0]);
            this.places = places;
        }

        OfRow of(SpecializedGetters row) {
            values = row;
            return this;
        }

        @Override
        DataType type(int i) {
            return types[i];
        }

        @Override
        String column(int i) {
            return column == null ? type.getFieldNames().get(i) : column;
        }

        @Override
        int at(int i) {
            return places == null ? i : places[i];
        }

        @Override
        public int getFieldCount() {
            return types.length;
        }

        @Override
        public RowKind getRowKind() {
            return kind;
        }

        @Override
        public void setRowKind(RowKind kind) {
            this.kind = kind;
        }
    }

    private static final class OfArray extends RowsForPaimon implements InternalArray {
        private final DataType element;
        private final ArrayData array;

        OfArray(String column, DataType element, ArrayData array) {
            this.column = column;
            this.element = element;
            this.array = array;
            values = array;
        }

        @Override
        DataType type(int i) {
            return element;
        }

        @Override
        String column(int i) {
            return column;
        }

        @Override
        public int size() {
            return array.numElements();
        }

        @Override
        public boolean[] toBooleanArray() {
            return array.toBooleanArray();
        }

        @Override
        public byte[] toByteArray() {
            return array.toByteArray();
        }

        @Override
        public short[] toShortArray() {
            return array.toShortArray();
        }

        @Override
        public int[] toIntArray() {
            return array.toIntArray();
        }

        @Override
        public long[] toLongArray() {
            return array.toLongArray();
        }

        @Override
        public float[] toFloatArray() {
            return array.toFloatArray();
        }

        @Override
        public double[] toDoubleArray() {
            return array.toDoubleArray();
        }
    }
}
