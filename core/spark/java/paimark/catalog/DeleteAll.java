package paimark.catalog;

import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/** A DELETE of all rows of a table with CHAR columns: Spark pads what it reads of them, and then finds no table. */
public final class DeleteAll extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        if (!(plan instanceof DeleteFromTable)) {
            return plan;
        }
        DeleteFromTable delete = (DeleteFromTable) plan;
        LogicalPlan target = EliminateSubqueryAliases.apply(delete.table());
        if (!Literal.TrueLiteral().equals(delete.condition()) || !(target instanceof Project)) {
            return plan;
        }
        LogicalPlan padded = EliminateSubqueryAliases.apply(((Project) target).child());
        boolean isOurs = padded instanceof DataSourceV2Relation
                && ((DataSourceV2Relation) padded).table() instanceof KeepsValues;
        return isOurs ? new DeleteFromTable(padded, delete.condition()) : plan;
    }
}
