package paimark.catalog;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import paimark.clauses.Rewrite;
import scala.Option;
import scala.collection.immutable.Seq;

/** A table with the rows of a data frame. */
public final class FrameTable extends PreparedTable {
    private final LogicalPlan plan;

    public FrameTable(String label, Dataset<?> frame) {
        super(label, CatalogV2Util.structTypeToV2Columns(frame.schema()));
        this.plan = frame.queryExecution().analyzed();
    }

    @Override
    public LogicalPlan plan(Seq<AttributeReference> columns) {
        // Spark has told equal columns apart before: each use of the frame needs columns of its own.
        LogicalPlan rows = (LogicalPlan) plan.transformAllExpressions(new Rewrite<>(new Renumbering()::renumbered));
        List<NamedExpression> made = new ArrayList<>();
        for (int number = 0; number < columns.length(); number++) {
            AttributeReference as = columns.apply(number);
            Expression column = (Expression) rows.output().apply(number);
            Seq<String> none = PythonUtils.toSeq(new ArrayList<>());
            made.add(new Alias(column, as.name(), as.exprId(), none, Option.apply(as.metadata()), none));
        }
        return new Project(PythonUtils.toSeq(made), rows);
    }

    /** Gives all columns of a plan new numbers. */
    private static final class Renumbering {
        private final Map<ExprId, ExprId> numbers = new HashMap<>();

        Expression renumbered(Expression expression) {
            if (expression instanceof AttributeReference) {
                AttributeReference column = (AttributeReference) expression;
                return column.withExprId(renewed(column.exprId()));
            }
            if (!(expression instanceof Alias)) {
                return null;
            }
            Alias alias = (Alias) expression;
            return alias.copy(
                    alias.child(),
                    alias.name(),
                    renewed(alias.exprId()),
                    alias.qualifier(),
                    alias.explicitMetadata(),
                    alias.nonInheritableMetadataKeys());
        }

        private ExprId renewed(ExprId number) {
            return numbers.computeIfAbsent(number, each -> NamedExpression.newExprId());
        }
    }
}
