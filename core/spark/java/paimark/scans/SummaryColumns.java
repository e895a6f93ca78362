package paimark.scans;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Finds the columns that an aggregate needs of a table's summary, as {@code Summaries} makes it.
 *
 * <p>Never on executors.
 */
public final class SummaryColumns {
    /** Types of which equal values are identical, and have one order. Floating-point numbers may have neither. */
    private static final Set<DataType> COMPARED = Set.of(
            DataTypes.BooleanType, DataTypes.ByteType, DataTypes.ShortType, DataTypes.IntegerType, DataTypes.LongType,
            DataTypes.StringType, DataTypes.DateType, DataTypes.TimestampType, DataTypes.TimestampNTZType);

    /** Columns of the table: those in conditions, groups and the like, and those of minima and maxima. */
    public final Set<String> values = new TreeSet<>();
    public final Set<String> bounds = new TreeSet<>();
    /** By the id of a column: the names of the table's columns that it is computed from. */
    private final Map<ExprId, Set<String>> sources = new HashMap<>();
    /** Ids of columns that are unchanged columns of the table. */
    private final Set<ExprId> plain = new HashSet<>();

    /** Null if a summary can't answer the aggregate. */
    static SummaryColumns of(Aggregate aggregate) {
        SummaryColumns columns = new SummaryColumns();
        return columns.takes(aggregate) ? columns : null;
    }

    /** Those of both aggregates. */
    SummaryColumns and(SummaryColumns other) {
        values.addAll(other.values);
        bounds.addAll(other.bounds);
        return this;
    }

    private boolean takes(Aggregate aggregate) {
        return takesRows(aggregate.child())
                && aggregate.groupingExpressions().forall(
                        each -> each instanceof Attribute && isCompared(each.dataType()) && isShared(each))
                && aggregate.aggregateExpressions().forall(each -> takesFunctions((Expression) each));
    }

    private boolean takesRows(LogicalPlan node) {
        if (node.children().isEmpty()) {
            for (Attribute each : CollectionConverters.asJava(node.output())) {
                sources.put(each.exprId(), Set.of(each.name()));
                plain.add(each.exprId());
            }
            return true;
        }
        if (!(node instanceof Project || node instanceof Filter) || !takesRows(node.children().head())) {
            return false;
        }
        return node instanceof Filter ? isShared(((Filter) node).condition())
                : ((Project) node).projectList().forall(this::takesColumn);
    }

    private boolean takesColumn(NamedExpression column) {
        Expression made = column instanceof Alias ? ((Alias) column).child() : (Expression) column;
        if (!(made instanceof Attribute) && !isShared(made)) {
            return false;
        }
        sources.put(column.exprId(), sourcesOf(made));
        if (isPlain(made)) {
            plain.add(column.exprId());
        }
        return true;
    }

    /** Whether a summary answers all aggregate functions in it. Spark computes the rest from their results. */
    private boolean takesFunctions(Expression expression) {
        return expression instanceof AggregateExpression ? takesFunction((AggregateExpression) expression)
                : expression.children().forall(this::takesFunctions);
    }

    private boolean takesFunction(AggregateExpression function) {
        Expression kind = function.aggregateFunction();
        if (function.isDistinct() || function.filter().isDefined() || kind.children().length() != 1) {
            return false;
        }
        Expression of = argument(function);
        if (kind instanceof Count) {
            return isShared(of);
        }
        if (!(kind instanceof Min || kind instanceof Max) || !isCompared(of.dataType())) {
            return false;
        }
        if (isPlain(of)) {
            bounds.addAll(sourcesOf(of));
            return true;
        }
        return isShared(of);
    }

    private boolean isPlain(Expression column) {
        return column instanceof Attribute && plain.contains(((Attribute) column).exprId());
    }

    /** Whether its value depends only on the columns that it is computed from. */
    private boolean isShared(Expression expression) {
        if (expression.exists(SummaryColumns::dependsOnMore)) {
            return false;
        }
        values.addAll(sourcesOf(expression));
        return true;
    }

    private static boolean dependsOnMore(Expression part) {
        boolean isEvaluated = part.deterministic() && !(part instanceof Unevaluable || part instanceof PlanExpression);
        return !(part instanceof Attribute || isEvaluated);
    }

    private Set<String> sourcesOf(Expression expression) {
        Set<String> names = new TreeSet<>();
        expression.references().foreach(each -> names.addAll(sources.get(each.exprId())));
        return names;
    }

    private static boolean isCompared(DataType type) {
        return type instanceof DecimalType || COMPARED.contains(type);
    }

    public static Expression argument(AggregateExpression function) {
        return function.aggregateFunction().children().head();
    }
}
