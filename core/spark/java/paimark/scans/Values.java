package paimark.scans;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** Values of a row's columns that compare as in Paimon: null before all values, texts byte by byte. */
public final class Values {
    private static final int WHOLE = 0;
    private static final int BYTES = 1;
    private static final int WIDE = 2;
    private static final int FLOAT = 3;
    private static final int DOUBLE = 4;
    private static final int INT = 5;
    private static final int SHORT = 6;
    private static final int BYTE = 7;
    private static final int BOOLEAN = 8;
    private static final int TEXT = 9;
    // The kind of a decimal also contains its precision and scale, above this number.
    private static final int DECIMAL = 10;
    private static final int WIDTH = 100;

    private final int[] kinds;
    private final boolean[] isThere;
    private final long[] numbers;
    private final Object[] others;

    public Values(int[] kinds) {
        this.kinds = kinds;
        this.isThere = new boolean[kinds.length];
        this.numbers = new long[kinds.length];
        this.others = new Object[kinds.length];
    }

    public static int[] kinds(StructType columns) {
        int[] kinds = new int[columns.length()];
        for (int place = 0; place < kinds.length; place++) {
            kinds[place] = kind(columns.apply(place).dataType());
        }
        return kinds;
    }

    private static int kind(DataType type) {
        if (type instanceof StringType) {
            return TEXT;
        }
        if (type instanceof BinaryType) {
            return BYTES;
        }
        if (type instanceof DecimalType) {
            DecimalType decimal = (DecimalType) type;
            return DECIMAL + WIDTH * (decimal.precision() * WIDTH + decimal.scale());
        }
        if (type instanceof FloatType) {
            return FLOAT;
        }
        if (type instanceof DoubleType) {
            return DOUBLE;
        }
        if (type instanceof IntegerType || type instanceof DateType) {
            return INT;
        }
        if (type instanceof ShortType) {
            return SHORT;
        }
        if (type instanceof ByteType) {
            return BYTE;
        }
        return type instanceof BooleanType ? BOOLEAN : WHOLE;
    }

    /** Values in the form of {@code selected_rows.py}. */
    public static Values of(int[] kinds, JsonNode given) throws IOException {
        Values made = new Values(kinds);
        for (int place = 0; place < kinds.length; place++) {
            JsonNode value = (JsonNode) (Object) given.get(place);
            int kind = kinds[place] % WIDTH;
            made.isThere[place] = !value.isNull();
            if (value.isNull()) {
                continue;
            }
            if (kind == TEXT || kind == BYTES) {
                made.others[place] = value.binaryValue();
            } else if (isWide(kinds[place])) {
                made.others[place] = new BigInteger(value.asText());
            } else {
                made.numbers[place] = value.asLong();
            }
        }
        return made;
    }

    /** Whether columns of this kind have whole numbers, as {@code whole} returns them. */
    public static boolean isWhole(int kind) {
        return kind == WHOLE || kind == INT || kind == SHORT || kind == BYTE;
    }

    public static long whole(ColumnVector column, int row, int kind) {
        switch (kind) {
            case INT:
                return column.getInt(row);
            case SHORT:
                return column.getShort(row);
            case BYTE:
                return column.getByte(row);
            default:
                return column.getLong(row);
        }
    }

    /** The first value. */
    public long whole() {
        return numbers[0];
    }

    private static boolean isWide(int kind) {
        return kind % WIDTH == DECIMAL && kind / WIDTH / WIDTH > 18;
    }

    public void read(InternalRow row, int[] places) {
        for (int column = 0; column < kinds.length; column++) {
            int place = places[column];
            isThere[column] = place >= 0 && !row.isNullAt(place);
            if (isThere[column]) {
                read(row, place, column);
            }
        }
    }

    private void read(InternalRow row, int place, int column) {
        int kind = kinds[column];
        switch (kind % WIDTH) {
            case WHOLE:
                numbers[column] = row.getLong(place);
                break;
            case INT:
                numbers[column] = row.getInt(place);
                break;
            case SHORT:
                numbers[column] = row.getShort(place);
                break;
            case BYTE:
                numbers[column] = row.getByte(place);
                break;
            case BOOLEAN:
                numbers[column] = row.getBoolean(place) ? 1 : 0;
                break;
            case FLOAT:
                int single = Float.floatToIntBits(row.getFloat(place));
                numbers[column] = single ^ (single >> 31 & Integer.MAX_VALUE);
                break;
            case DOUBLE:
                long whole = Double.doubleToLongBits(row.getDouble(place));
                numbers[column] = whole ^ (whole >> 63 & Long.MAX_VALUE);
                break;
            case TEXT:
                others[column] = row.getUTF8String(place).getBytes();
                break;
            case BYTES:
                others[column] = row.getBinary(place).clone();
                break;
            default:
                int precision = kind / WIDTH / WIDTH;
                int scale = kind / WIDTH % WIDTH;
                if (isWide(kind)) {
                    others[column] =
                            row.getDecimal(place, precision, scale).toJavaBigDecimal().unscaledValue();
                } else {
                    numbers[column] = row.getDecimal(place, precision, scale).toUnscaledLong();
                }
        }
    }

    /** The first value in the form of Spark's filters; null for a type by which readers skip nothing. */
    public Object pushed(DataType type) {
        if (type instanceof StringType) {
            return new String((byte[]) others[0], StandardCharsets.UTF_8);
        }
        if (type instanceof DecimalType) {
            BigInteger digits = others[0] == null ? BigInteger.valueOf(numbers[0]) : (BigInteger) others[0];
            return new BigDecimal(digits, ((DecimalType) type).scale());
        }
        if (type instanceof DateType) {
            return LocalDate.ofEpochDay(numbers[0]);
        }
        if (type instanceof IntegerType || type instanceof ShortType || type instanceof ByteType) {
            return Integer.valueOf((int) numbers[0]);
        }
        return type instanceof LongType ? Long.valueOf(numbers[0]) : null;
    }

    public boolean hasNulls() {
        for (int column = 0; column < kinds.length; column++) {
            if (!isThere[column]) {
                return true;
            }
        }
        return false;
    }

    public int compare(Values other, boolean isDescending) {
        for (int column = 0; column < kinds.length; column++) {
            if (!isThere[column] || !other.isThere[column]) {
                if (isThere[column] != other.isThere[column]) {
                    return isThere[column] ? 1 : -1;
                }
                continue;
            }
            int order = compareColumn(other, column);
            if (order != 0) {
                return isDescending ? -order : order;
            }
        }
        return 0;
    }

    private int compareColumn(Values other, int column) {
        Object value = others[column];
        if (value == null) {
            return Long.compare(numbers[column], other.numbers[column]);
        }
        if (value instanceof byte[]) {
            return Arrays.compareUnsigned((byte[]) value, (byte[]) other.others[column]);
        }
        return ((BigInteger) value).compareTo((BigInteger) other.others[column]);
    }
}
