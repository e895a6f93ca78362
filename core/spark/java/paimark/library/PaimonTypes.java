package paimark.library;

import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.CharType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VarcharType;

/** Paimon's types for Spark's, as Paimon's own connector chooses them. */
final class PaimonTypes {
    private PaimonTypes() {}

    /** {@code column} is named in the refusal of a type that Paimon has not. */
    static DataType of(org.apache.spark.sql.types.DataType type, String column) {
        if (type instanceof CharType) {
            return DataTypes.CHAR(((CharType) type).length());
        }
        if (type instanceof VarcharType) {
            return DataTypes.VARCHAR(((VarcharType) type).length());
        }
        if (type instanceof StringType) {
            return DataTypes.STRING();
        }
        if (type instanceof DecimalType) {
            return DataTypes.DECIMAL(((DecimalType) type).precision(), ((DecimalType) type).scale());
        }
        if (type instanceof ArrayType) {
            ArrayType array = (ArrayType) type;
            return DataTypes.ARRAY(of(array.elementType(), column).copy(array.containsNull()));
        }
        if (type instanceof MapType) {
            MapType map = (MapType) type;
            DataType value = of(map.valueType(), column).copy(map.valueContainsNull());
            return DataTypes.MAP(of(map.keyType(), column).notNull(), value);
        }
        if (type instanceof StructType) {
            StructField[] fields = ((StructType) type).fields();
            DataField[] made = new DataField[fields.length];
            for (int place = 0; place < fields.length; place++) {
                StructField field = fields[place];
                DataType of = of(field.dataType(), column).copy(field.nullable());
                made[place] = new DataField(place, field.name(), of, field.getComment().getOrElse(() -> null));
            }
            return DataTypes.ROW(made);
        }
        switch (type.typeName()) {
            case "boolean": return DataTypes.BOOLEAN();
            case "byte": return DataTypes.TINYINT();
            case "short": return DataTypes.SMALLINT();
            case "integer": return DataTypes.INT();
            case "long": return DataTypes.BIGINT();
            case "float": return DataTypes.FLOAT();
            case "double": return DataTypes.DOUBLE();
            case "binary": return DataTypes.BYTES();
            case "date": return DataTypes.DATE();
            case "timestamp": return DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE();
            case "timestamp_ntz": return DataTypes.TIMESTAMP();
            case "variant": return DataTypes.VARIANT();
            default: throw new IllegalArgumentException(
                    "Paimon has no type for " + type.sql() + ", the type of " + column);
        }
    }
}
