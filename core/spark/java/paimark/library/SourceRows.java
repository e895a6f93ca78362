package paimark.library;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;
import paimark.catalog.Lossless;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows that a program or an INSERT writes, by the names of their columns or, if they have all of them, in the table's
 * order. {@code write} is a {@link TableWrite}.
 */
public final class SourceRows {
    private SourceRows() {}

    /** Write them as the table's columns. Values that would be rounded or cut are refused. */
    public static void write(Object write, Dataset<Row> rows) {
        write((TableWrite) write, ((TableWrite) write).table.name(), rows, false);
    }

    static void write(TableWrite write, String label, Dataset<Row> rows, boolean inOrder) {
        write.write(assigned(write, label, (org.apache.spark.sql.classic.Dataset<Row>) rows, inOrder), false);
    }

    /** Nobody will commit it any more; null: nothing was begun. */
    public static void end(Object write) {
        if (write != null) {
            ((TableWrite) write).end();
        }
    }

    private static org.apache.spark.sql.classic.Dataset<Row> assigned(TableWrite write, String label,
            org.apache.spark.sql.classic.Dataset<Row> rows, boolean inOrder) {
        SparkSession session = rows.sparkSession();
        DataSourceV2Relation target = DataSourceV2Relation.create(write.changing(label), Option.empty(),
                Option.empty(), CaseInsensitiveStringMap.empty(), Option.empty());
        LogicalPlan given = rows.queryExecution().analyzed();
        scala.collection.immutable.Map<String, String> options = scala.collection.immutable.Map$.MODULE$.empty();
        AppendData append = inOrder ? AppendData.byPosition(target, given, options)
                : AppendData.byName(target, given, options);
        LogicalPlan checked = Lossless.checked(session.sessionState().executePlan(append,
                org.apache.spark.sql.execution.CommandExecutionMode.SKIP()).analyzed());
        LogicalPlan query = ((AppendData) checked).query();
        List<NamedExpression> columns = new ArrayList<>();
        for (Attribute each : CollectionConverters.asJava(query.output())) {
            boolean mayBeNull = write.table.rowType().getField(each.name()).type().isNullable();
            columns.add(mayBeNull ? each : notNull(each));
        }
        return org.apache.spark.sql.classic.Dataset.ofRows(session, new Project(PythonUtils.toSeq(columns), query));
    }

    private static NamedExpression notNull(Attribute column) {
        UTF8String words = UTF8String.fromString("Column " + column.name() + " may not be null");
        Expression error = new Cast(new RaiseError(new Literal(words, DataTypes.StringType)), column.dataType(),
                Option.empty(), EvalMode.TRY());
        return new Alias(new If(new IsNull(column), error, column), column.name(), NamedExpression.newExprId(),
                PythonUtils.toSeq(List.of()), Option.empty(), PythonUtils.toSeq(List.of()));
    }
}
