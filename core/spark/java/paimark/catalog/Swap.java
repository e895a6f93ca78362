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
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** Puts the plans of prepared tables into an analysed query, and the database into {@code current_database()}. */
final class Swap extends Rule<LogicalPlan> {
    private final SparkSession session;

    Swap(SparkSession session) {
        this.session = session;
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        LogicalPlan swapped = (LogicalPlan) plan.transformUpWithSubqueries(new Relations());
        if (!swapped.containsPattern(TreePattern$.MODULE$.CURRENT_LIKE())) {
            return swapped;
        }
        return (LogicalPlan) swapped.transformAllExpressionsWithSubqueries(new Database(database()));
    }

    /** The current database; null if none was chosen. */
    private UTF8String database() {
        org.apache.spark.sql.classic.SparkSession here = (org.apache.spark.sql.classic.SparkSession) session;
        String[] names = here.sessionState().catalogManager().currentNamespace();
        return names.length == 0 ? null : UTF8String.fromString(String.join(".", names));
    }

    private static final class Relations extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
        @Override
        public boolean isDefinedAt(LogicalPlan node) {
            return node instanceof DataSourceV2Relation
                    && ((DataSourceV2Relation) node).table() instanceof PreparedTable;
        }

        @Override
        @SuppressWarnings("unchecked")
        public <A extends LogicalPlan, B> B applyOrElse(A node, Function1<A, B> otherwise) {
            if (!isDefinedAt(node)) {
                return otherwise.apply(node);
            }
            DataSourceV2Relation relation = (DataSourceV2Relation) (LogicalPlan) node;
            return (B) ((PreparedTable) relation.table()).plan(relation.output());
        }
    }

    private static final class Database extends AbstractPartialFunction<Expression, Expression> {
        private final UTF8String database;

        Database(UTF8String database) {
            this.database = database;
        }

        @Override
        public boolean isDefinedAt(Expression expression) {
            return expression instanceof CurrentDatabase;
        }

        @Override
        @SuppressWarnings("unchecked")
        public <A extends Expression, B> B applyOrElse(A expression, Function1<A, B> otherwise) {
            return isDefinedAt(expression)
                    ? (B) new Literal(database, DataTypes.StringType)
                    : otherwise.apply(expression);
        }
    }
}
