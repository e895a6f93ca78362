import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.BinaryVector;
import org.apache.paimon.data.Blob;
import org.apache.paimon.data.DataGetters;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.data.variant.Variant;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.VectorType;
import org.apache.paimon.utils.InternalRowUtils;

/**
 * Paimon's values as JSON without loss, and back.
 *
 * <p>Numbers, booleans and text are JSON's; bytes are hexadecimal, decimals text, dates days, times milliseconds,
 * timestamps microseconds since the epoch, maps and multisets lists of pairs, rows, arrays and vectors lists, variants
 * JSON's text.
 */
final class Values {
    private Values() {}

    /** The {@code index}th field of a row or element of an array. */
    static Object toJson(DataGetters holder, int index, DataType type) {
        Object value = holder.isNullAt(index) ? null : InternalRowUtils.get(holder, index, type);
        // A cast gives null for a value that does not fit, and says so only here.
        return value == null ? null : toJson(value, type);
    }

    private static Object toJson(Object value, DataType type) {
        switch (type.getTypeRoot()) {
            case CHAR:
            case VARCHAR:
                return value.toString();
            case BINARY:
            case VARBINARY:
                return HexFormat.of().formatHex((byte[]) value);
            case DECIMAL:
                return ((Decimal) value).toBigDecimal().toPlainString();
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                Timestamp time = (Timestamp) value;
                return time.getMillisecond() * 1000 + time.getNanoOfMillisecond() / 1000;
            case FLOAT:
                return ((Float) value).doubleValue();
            case ARRAY:
                return elements((InternalArray) value, ((ArrayType) type).getElementType());
            case VARIANT:
                return ((Variant) value).toJson();
            case BLOB:
                return HexFormat.of().formatHex(((Blob) value).toData());
            case VECTOR:
                return elements((InternalArray) value, ((VectorType) type).getElementType());
            case MAP:
            case MULTISET:
                InternalMap map = (InternalMap) value;
                List<Object> keys = elements(map.keyArray(), keyOf(type));
                List<Object> values = elements(map.valueArray(), itemOf(type));
                List<Object> pairs = new ArrayList<>();
                for (int index = 0; index < keys.size(); index++) {
                    List<Object> pair = new ArrayList<>();
                    pair.add(keys.get(index));
                    pair.add(values.get(index));
                    pairs.add(pair);
                }
                return pairs;
            case ROW:
                return fields((InternalRow) value, (RowType) type);
            default:
                return value;
        }
    }

    static List<Object> fields(InternalRow row, RowType type) {
        List<Object> fields = new ArrayList<>();
        for (int index = 0; index < type.getFieldCount(); index++) {
            fields.add(toJson(row, index, type.getTypeAt(index)));
        }
        return fields;
    }

    private static List<Object> elements(InternalArray array, DataType type) {
        List<Object> elements = new ArrayList<>();
        for (int index = 0; index < array.size(); index++) {
            elements.add(toJson(array, index, type));
        }
        return elements;
    }

    static Object fromJson(Object json, DataType type) {
        if (json == null) {
            return null;
        }
        switch (type.getTypeRoot()) {
            case CHAR:
            case VARCHAR:
                return BinaryString.fromString((String) json);
            case BINARY:
            case VARBINARY:
                return HexFormat.of().parseHex((String) json);
            case DECIMAL:
                DecimalType decimal = (DecimalType) type;
                return Decimal.fromBigDecimal(
                        new BigDecimal((String) json), decimal.getPrecision(), decimal.getScale());
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return Timestamp.fromMicros(((Number) json).longValue());
            case TINYINT:
                return ((Number) json).byteValue();
            case SMALLINT:
                return ((Number) json).shortValue();
            case INTEGER:
            case DATE:
            case TIME_WITHOUT_TIME_ZONE:
                return ((Number) json).intValue();
            case BIGINT:
                return ((Number) json).longValue();
            case FLOAT:
                return (float) Double.parseDouble(json.toString());
            case DOUBLE:
                return Double.parseDouble(json.toString());
            case ARRAY:
                List<Object> elements = new ArrayList<>();
                for (Object element : (List<?>) json) {
                    elements.add(fromJson(element, ((ArrayType) type).getElementType()));
                }
                return new GenericArray(elements.toArray());
            case VARIANT:
                return GenericVariant.fromJson((String) json);
            case BLOB:
                return Blob.fromData(HexFormat.of().parseHex((String) json));
            case VECTOR:
                float[] numbers = new float[((List<?>) json).size()];
                for (int at = 0; at < numbers.length; at++) {
                    numbers[at] = ((Number) ((List<?>) json).get(at)).floatValue();
                }
                return BinaryVector.fromPrimitiveArray(numbers);
            case MAP:
            case MULTISET:
                Map<Object, Object> map = new LinkedHashMap<>();
                for (Object pair : (List<?>) json) {
                    map.put(
                            fromJson(((List<?>) pair).get(0), keyOf(type)),
                            fromJson(((List<?>) pair).get(1), itemOf(type)));
                }
                return new GenericMap(map);
            case ROW:
                return row((List<?>) json, (RowType) type);
            default:
                return json;
        }
    }

    private static DataType keyOf(DataType map) {
        return map instanceof MultisetType ? ((MultisetType) map).getElementType() : ((MapType) map).getKeyType();
    }

    private static DataType itemOf(DataType map) {
        return map instanceof MultisetType ? new IntType() : ((MapType) map).getValueType();
    }

    static GenericRow row(List<?> fields, RowType type) {
        GenericRow row = new GenericRow(type.getFieldCount());
        for (int index = 0; index < type.getFieldCount(); index++) {
            row.setField(index, fromJson(fields.get(index), type.getTypeAt(index)));
        }
        return row;
    }
}
