package paimark.catalog;

import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.runtime.AbstractFunction1;

/**
 * Tells a {@link MergeTarget} that its rows come of a MERGE: where that only inserts, Spark makes an INSERT of rows that
 * have none in the target, and its query reads the target itself.
 */
public final class InsertingMerges extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        if (plan instanceof AppendData && target(((AppendData) plan).table()) != null) {
            MergeTarget target = target(((AppendData) plan).table());
            boolean reads = ((AppendData) plan).query().exists(new AbstractFunction1<LogicalPlan, Object>() {
                @Override
                public Object apply(LogicalPlan each) {
                    return target(each) == target;
                }
            });
            if (reads) {
                target.isMerged();
            }
        }
        return plan;
    }

    private static MergeTarget target(Object plan) {
        Table table = plan instanceof DataSourceV2Relation ? ((DataSourceV2Relation) plan).table() : null;
        return table instanceof MergeTarget ? (MergeTarget) table : null;
    }
}
