package paimark.catalog;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.CurrentDatabase;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import paimark.clauses.Rewrite;

/** Puts the plans of prepared tables into an analysed query, and the database into {@code current_database()}. */
final class Swap extends Rule<LogicalPlan> {
    private final SparkSession session;

    Swap(SparkSession session) {
        this.session = session;
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        LogicalPlan swapped = (LogicalPlan) plan.transformUpWithSubqueries(new Rewrite<>(Swap::prepared));
        if (!swapped.containsPattern(TreePattern$.MODULE$.CURRENT_LIKE())) {
            return swapped;
        }
        Expression database = new Literal(database(), DataTypes.StringType);
        return (LogicalPlan) swapped.transformAllExpressionsWithSubqueries(
                new Rewrite<Expression>(each -> each instanceof CurrentDatabase ? database : null));
    }

    /** The current database; null if none was chosen. */
    private UTF8String database() {
        org.apache.spark.sql.classic.SparkSession here = (org.apache.spark.sql.classic.SparkSession) session;
        String[] names = here.sessionState().catalogManager().currentNamespace();
        return names.length == 0 ? null : UTF8String.fromString(String.join(".", names));
    }

    private static LogicalPlan prepared(LogicalPlan node) {
        if (!(node instanceof DataSourceV2Relation)
                || !(((DataSourceV2Relation) node).table() instanceof PreparedTable)) {
            return null;
        }
        DataSourceV2Relation relation = (DataSourceV2Relation) node;
        return ((PreparedTable) relation.table()).plan(relation.output());
    }
}
