package paimark.scans;

import java.util.HashMap;
import java.util.HashSet;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
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
import scala.collection.Iterator;

/**
 * Finds the columns that an aggregate needs of a table's summary, as {@code Summaries} makes it.
 *
 * <p>Never on executors.
 */
public final class SummaryColumns {
    /** Columns of the table: those in conditions, groups and the like, and those of minima and maxima. */
    public final TreeSet values = new TreeSet();
    public final TreeSet bounds = new TreeSet();
    // By the id of a column: the names of the table's columns that it is computed from.
    private final HashMap sources = new HashMap();
    // Ids of columns that are unchanged columns of the table.
    private final HashSet plain = new HashSet();

    public boolean takes(Aggregate aggregate) {
        if (!takesRows(aggregate.child())) {
            return false;
        }
        Iterator group = aggregate.groupingExpressions().iterator();
        while (group.hasNext()) {
            Expression each = (Expression) group.next();
            if (!(each instanceof Attribute) || !isCompared(each.dataType()) || !isShared(each)) {
                return false;
            }
        }
        Iterator named = aggregate.aggregateExpressions().iterator();
        while (named.hasNext()) {
            if (!takesFunctions((Expression) named.next())) {
                return false;
            }
        }
        return true;
    }

    private boolean takesRows(LogicalPlan node) {
        if (node.children().isEmpty()) {
            Iterator column = node.output().iterator();
            while (column.hasNext()) {
                Attribute each = (Attribute) column.next();
                TreeSet itself = new TreeSet();
                itself.add(each.name());
                sources.put(id(each), itself);
                plain.add(id(each));
            }
            return true;
        }
        if (!(node instanceof Project || node instanceof Filter) || !takesRows((LogicalPlan) node.children().head())) {
            return false;
        }
        if (node instanceof Filter) {
            return isShared(((Filter) node).condition());
        }
        Iterator column = ((Project) node).projectList().iterator();
        while (column.hasNext()) {
            NamedExpression each = (NamedExpression) column.next();
            Expression made = each instanceof Alias ? ((Alias) each).child() : (Expression) each;
            if (!(made instanceof Attribute) && !isShared(made)) {
                return false;
            }
            sources.put(Long.valueOf(each.exprId().id()), sourcesOf(made));
            if (made instanceof Attribute && plain.contains(id((Attribute) made))) {
                plain.add(Long.valueOf(each.exprId().id()));
            }
        }
        return true;
    }

    /** Whether a summary answers all aggregate functions in it. Spark computes the rest from their results. */
    private boolean takesFunctions(Expression expression) {
        if (expression instanceof AggregateExpression) {
            return takesFunction((AggregateExpression) expression);
        }
        Iterator part = expression.children().iterator();
        while (part.hasNext()) {
            if (!takesFunctions((Expression) part.next())) {
                return false;
            }
        }
        return true;
    }

    private boolean takesFunction(AggregateExpression function) {
        Expression kind = (Expression) (Object) function.aggregateFunction();
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
        if (of instanceof Attribute && plain.contains(id((Attribute) of))) {
            bounds.addAll(sourcesOf(of));
            return true;
        }
        return isShared(of);
    }

    /** Whether its value depends only on the columns that it is computed from. */
    private boolean isShared(Expression expression) {
        if (!isEvaluated(expression)) {
            return false;
        }
        values.addAll(sourcesOf(expression));
        return true;
    }

    private TreeSet sourcesOf(Expression expression) {
        TreeSet names = new TreeSet();
        Iterator each = expression.references().iterator();
        while (each.hasNext()) {
            names.addAll((TreeSet) sources.get(id((Attribute) each.next())));
        }
        return names;
    }

    private static boolean isEvaluated(Expression expression) {
        if (expression instanceof Attribute) {
            return true;
        }
        if (!expression.deterministic() || expression instanceof Unevaluable || expression instanceof PlanExpression) {
            return false;
        }
        Iterator part = expression.children().iterator();
        while (part.hasNext()) {
            if (!isEvaluated((Expression) part.next())) {
                return false;
            }
        }
        return true;
    }

    /** Whether equal values are identical, and have one order. Floating-point numbers may be neither. */
    private static boolean isCompared(DataType type) {
        return type instanceof DecimalType
                || type.equals(DataTypes.BooleanType)
                || type.equals(DataTypes.ByteType)
                || type.equals(DataTypes.ShortType)
                || type.equals(DataTypes.IntegerType)
                || type.equals(DataTypes.LongType)
                || type.equals(DataTypes.StringType)
                || type.equals(DataTypes.DateType)
                || type.equals(DataTypes.TimestampType)
                || type.equals(DataTypes.TimestampNTZType);
    }

    private static Long id(Attribute column) {
        return Long.valueOf(column.exprId().id());
    }

    public static Expression argument(AggregateExpression function) {
        return (Expression) function.aggregateFunction().children().head();
    }
}
