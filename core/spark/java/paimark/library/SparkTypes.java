package paimark.library;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.CharType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.TimeType;
import org.apache.paimon.types.VarCharType;
import org.apache.paimon.types.VectorType;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Spark's types for Paimon's. Every column is nullable, as with Spark's own file sources: files may break other
 * promises.
 */
final class SparkTypes {
    private SparkTypes() {}

    /** The columns as Spark declares them: CHAR has its length, by which Spark pads what it reads. */
    static StructType declared(RowType row) {
        return declared(row, false);
    }

    /** The columns of a table that is written to: VARCHAR has its length too, and Spark refuses longer texts. */
    static StructType written(RowType row) {
        return declared(row, true);
    }

    private static StructType declared(RowType row, boolean isWritten) {
        List<StructField> fields = new ArrayList<>();
        for (DataField field : row.getFields()) {
            fields.add(new StructField(field.name(), declared(field.type(), isWritten), true, Metadata.empty()));
        }
        return new StructType(fields.toArray(new StructField[0]));
    }

    /** The columns as rows carry them: CHAR is a text. */
    static StructType of(RowType row) {
        return CharVarcharUtils.replaceCharVarcharWithStringInSchema(declared(row));
    }

    /**
     * Columns that Spark wants, each with all its fields: it would leave out those of a STRUCT that it does not need,
     * and the library reads them. {@code like} gives the name of the column of {@code row} that a column shows.
     */
    static StructType whole(StructType wanted, RowType row, UnaryOperator<String> like) {
        StructField[] fields = wanted.fields().clone();
        for (int i = 0; i < fields.length; i++) {
            String name = like.apply(fields[i].name());
            if (row.containsField(name)) {
                fields[i] = fields[i].copy(fields[i].name(), of(row.getField(name).type()), fields[i].nullable(),
                        fields[i].metadata());
            }
        }
        return new StructType(fields);
    }

    static DataType of(org.apache.paimon.types.DataType type) {
        return CharVarcharUtils.replaceCharVarcharWithString(declared(type, false));
    }

    private static DataType declared(org.apache.paimon.types.DataType type, boolean isWritten) {
        switch (type.getTypeRoot()) {
            case BOOLEAN: return DataTypes.BooleanType;
            case TINYINT: return DataTypes.ByteType;
            case SMALLINT: return DataTypes.ShortType;
            case INTEGER: return DataTypes.IntegerType;
            case BIGINT: return DataTypes.LongType;
            case FLOAT: return DataTypes.FloatType;
            case DOUBLE: return DataTypes.DoubleType;
            case CHAR: return DataTypes.createCharType(((CharType) type).getLength());
            case VARCHAR: {
                int length = ((VarCharType) type).getLength();
                return isWritten && length < VarCharType.MAX_LENGTH
                        ? DataTypes.createVarcharType(length) : DataTypes.StringType;
            }
            case BINARY:
            case VARBINARY:
            case BLOB: return DataTypes.BinaryType;
            case DATE: return DataTypes.DateType;
            case DECIMAL: {
                DecimalType decimal = (DecimalType) type;
                return DataTypes.createDecimalType(decimal.getPrecision(), decimal.getScale());
            }
            case TIMESTAMP_WITHOUT_TIME_ZONE: return DataTypes.TimestampNTZType;
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE: return DataTypes.TimestampType;
            case TIME_WITHOUT_TIME_ZONE:
                return org.apache.spark.sql.types.TimeType.apply(Math.min(((TimeType) type).getPrecision(), 6));
            case VARIANT: return DataTypes.VariantType;
            case ARRAY: return DataTypes.createArrayType(declared(((ArrayType) type).getElementType(), isWritten), true);
            case VECTOR: return DataTypes.createArrayType(declared(((VectorType) type).getElementType(), isWritten), true);
            case MAP: {
                MapType map = (MapType) type;
                return DataTypes.createMapType(declared(map.getKeyType(), isWritten), declared(map.getValueType(), isWritten), true);
            }
            case MULTISET: {
                DataType element = declared(((MultisetType) type).getElementType(), isWritten);
                return DataTypes.createMapType(element, DataTypes.IntegerType, true);
            }
            case ROW: return declared((RowType) type, isWritten);
            default: throw new UnsupportedOperationException("Spark has no type for " + type.asSQLString());
        }
    }
}
