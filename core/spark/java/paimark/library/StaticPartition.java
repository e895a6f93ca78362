package paimark.library;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** What {@code INSERT OVERWRITE t PARTITION (day = '1')} replaces, as Spark tells a table: by conditions. */
final class StaticPartition {
    private static final Set<String> EQUAL = Set.of("=", "<=>");
    private static final String NULL = "IS_NULL";

    private StaticPartition() {}

    /** Whether each condition gives a value to a column of {@code partitions}. */
    static boolean isOne(Predicate[] conditions, List<String> partitions) {
        Set<String> columns = new HashSet<>();
        for (Predicate each : conditions) {
            boolean isValue = each.name().equals(NULL)
                    || (EQUAL.contains(each.name()) && each.children()[1] instanceof Literal);
            if (!isValue || !(each.children()[0] instanceof NamedReference) || !partitions.contains(column(each))
                    || !columns.add(column(each)) || isNever(each)) {
                return false;
            }
        }
        return conditions.length > 0;
    }

    /** {@code day = NULL}, which is true of no row. */
    private static boolean isNever(Predicate condition) {
        return condition.name().equals("=") && ((Literal<?>) condition.children()[1]).value() == null;
    }

    /** One row with these values; {@code columns} are those of the table. */
    static Dataset<Row> row(Predicate[] conditions, StructType columns) {
        List<NamedExpression> values = new ArrayList<>();
        for (Predicate each : conditions) {
            Object value = each.name().equals(NULL) ? null : ((Literal<?>) each.children()[1]).value();
            DataType type = columns.apply(column(each)).dataType();
            values.add(new Alias(
                    new org.apache.spark.sql.catalyst.expressions.Literal(value, type), column(each),
                    NamedExpression.newExprId(), PythonUtils.toSeq(List.of()), Option.empty(),
                    PythonUtils.toSeq(List.of())));
        }
        return Dataset.ofRows((SparkSession) SparkSession.active(),
                new Project(PythonUtils.toSeq(values), new OneRowRelation()));
    }

    private static String column(Predicate condition) {
        return String.join(".", ((NamedReference) condition.children()[0]).fieldNames());
    }
}
