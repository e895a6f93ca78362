package paimark.clauses;

import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** {@link Uses} for whoever has only SQL of a server: {@code statement_uses(text, now)}, of constants. */
public final class StatementUses implements UnboundFunction, ScalarFunction<UTF8String> {
    public static final String NAME = "statement_uses";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String description() {
        return NAME + "(text, now): the tables of a statement as JSON";
    }

    @Override
    public BoundFunction bind(StructType arguments) {
        return this;
    }

    @Override
    public DataType[] inputTypes() {
        return new DataType[] {DataTypes.StringType, DataTypes.LongType};
    }

    @Override
    public DataType resultType() {
        return DataTypes.StringType;
    }

    /** Without tables if Spark can't parse the statement: its run says why. */
    @Override
    public UTF8String produceResult(InternalRow arguments) {
        try {
            String text = arguments.getUTF8String(0).toString();
            return UTF8String.fromString(Uses.of((SparkSession) SparkSession.active(), text, arguments.getLong(1)));
        } catch (Exception error) {
            if (error instanceof AnalysisException) {
                return UTF8String.fromString("{\"uses\": []}");
            }
            throw error instanceof RuntimeException ? (RuntimeException) error : new IllegalStateException(error);
        }
    }
}
