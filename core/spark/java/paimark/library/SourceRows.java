package paimark.library;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import paimark.catalog.Lossless;
import scala.Option;

/** Rows that a program writes, by the names of their columns. {@code write} is a {@link TableWrite}. */
public final class SourceRows {
    private SourceRows() {}

    /** Write them as the table's columns. Values that would be rounded or cut are refused. */
    public static void write(Object write, Dataset<Row> rows) {
        ((TableWrite) write).write(assigned((TableWrite) write, (org.apache.spark.sql.classic.Dataset<Row>) rows), false);
    }

    /** Nobody will commit it any more; null: nothing was begun. */
    public static void end(Object write) {
        if (write != null) {
            ((TableWrite) write).end();
        }
    }

    private static org.apache.spark.sql.classic.Dataset<Row> assigned(TableWrite write,
            org.apache.spark.sql.classic.Dataset<Row> rows) {
        SparkSession session = rows.sparkSession();
        DataSourceV2Relation target = DataSourceV2Relation.create(write.changing(write.table.name()), Option.empty(),
                Option.empty(), CaseInsensitiveStringMap.empty(), Option.empty());
        AppendData append = AppendData.byName(target, rows.queryExecution().analyzed(),
                scala.collection.immutable.Map$.MODULE$.empty());
        LogicalPlan checked = Lossless.checked(session.sessionState().executePlan(append,
                org.apache.spark.sql.execution.CommandExecutionMode.SKIP()).analyzed());
        return org.apache.spark.sql.classic.Dataset.ofRows(session, ((AppendData) checked).query());
    }
}
