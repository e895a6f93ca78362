package paimark.library;

import java.util.HashMap;
import java.util.Map;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.types.DataField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.connector.catalog.ColumnDefaultValue;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** The defaults of a table's columns, which Spark takes for what a statement leaves out. */
final class DefaultValues {
    private DefaultValues() {}

    /** The texts by column, as the table keeps them. */
    static Map<String, String> of(TableSchema schema) {
        Map<String, String> found = new HashMap<>();
        for (DataField field : schema.fields()) {
            if (field.defaultValue() != null) {
                found.put(field.name(), field.defaultValue());
            }
        }
        return found;
    }

    /** A text may have quotes around it, of any type. */
    static ColumnDefaultValue of(String text, DataType type) {
        boolean isQuoted = text.length() > 1 && text.startsWith("'") && text.endsWith("'");
        String value = isQuoted ? text.substring(1, text.length() - 1) : text;
        String literal = new Literal(UTF8String.fromString(value), DataTypes.StringType).sql();
        return new ColumnDefaultValue("CAST(" + literal + " AS " + type.sql() + ")", new LiteralValue<>(null, type));
    }
}
