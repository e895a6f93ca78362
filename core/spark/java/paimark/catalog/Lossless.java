package paimark.catalog;

import java.util.List;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.expressions.Abs;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.CheckOverflowInTableInsert;
import org.apache.spark.sql.catalyst.expressions.Concat;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.KnownNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.unsafe.types.UTF8String;
import paimark.clauses.Rewrite;

/** Refuses, while rows are written, values that Spark's own assignment to a column would round or cut. */
public final class Lossless extends Rule<LogicalPlan> {
    private static final TreeNodeTag<Object> CHECKED = new TreeNodeTag<>("paimark.lossless");

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        if (!(plan instanceof V2WriteCommand) || !keepsValues(((V2WriteCommand) plan).table())) {
            return plan;
        }
        return checked(plan);
    }

    /** With checks of all values that the plan assigns to columns. */
    public static LogicalPlan checked(LogicalPlan plan) {
        // Names are known a level above the casts: those first.
        LogicalPlan named = (LogicalPlan) plan.transformAllExpressions(new Rewrite<>(Lossless::named));
        return (LogicalPlan) named.transformAllExpressions(new Rewrite<>(Lossless::unnamed));
    }

    private static boolean keepsValues(Object target) {
        if (!(target instanceof DataSourceV2Relation)) {
            return false;
        }
        Table table = ((DataSourceV2Relation) target).table();
        return table instanceof KeepsValues
                || (table instanceof RowLevelOperationTable
                        && ((RowLevelOperationTable) table).table() instanceof KeepsValues);
    }

    private static Expression named(Expression expression) {
        if (expression instanceof Alias && mayLose(((Alias) expression).child())) {
            Alias alias = (Alias) expression;
            Cast cast = (Cast) alias.child();
            Expression checked = checked(cast, cast, "Column " + alias.name());
            return (Expression) alias.withNewChildren(PythonUtils.toSeq(List.of(checked)));
        }
        if (!(expression instanceof CheckOverflowInTableInsert)) {
            return null;
        }
        CheckOverflowInTableInsert check = (CheckOverflowInTableInsert) expression;
        return mayLose(check.child()) ? checked((Cast) check.child(), check, "Column " + check.columnName()) : null;
    }

    private static Expression unnamed(Expression expression) {
        if (!mayLose(expression)) {
            return null;
        }
        String column = "A column of " + expression.dataType().simpleString();
        return checked((Cast) expression, expression, column);
    }

    private static boolean mayLose(Expression expression) {
        if (!(expression instanceof Cast) || !expression.resolved()) {
            return false;
        }
        Cast cast = (Cast) expression;
        boolean isNew = cast.getTagValue(Cast$.MODULE$.BY_TABLE_INSERTION()).isDefined()
                && cast.getTagValue(CHECKED).isEmpty();
        DataType from = cast.child().dataType(), to = cast.dataType();
        boolean isApproximate =
                from instanceof IntegralType && (to instanceof FloatType || to instanceof DoubleType);
        return isNew && (isApproximate || !Cast$.MODULE$.canUpCast(from, to));
    }

    private static Expression checked(Cast cast, Expression assigned, String column) {
        cast.setTagValue(CHECKED, true);
        DataType from = cast.child().dataType(), to = cast.dataType();
        // Null for what overflows, so that the column is named.
        Cast tried = converted(cast, cast.child(), to);
        boolean isFraction = to instanceof FloatType || to instanceof DoubleType;
        Expression lossy;
        if ((from instanceof DoubleType || from instanceof DecimalType) && isFraction) {
            // A fraction may lose digits, as usual with floats, but not its magnitude.
            Object infinity =
                    to instanceof FloatType ? (Object) Float.POSITIVE_INFINITY : (Object) Double.POSITIVE_INFINITY;
            Expression size = new Abs(converted(cast, cast.child(), DataTypes.DoubleType), false);
            lossy = new And(
                    new EqualTo(new Abs(tried, false), new Literal(infinity, to)),
                    new Not(new EqualTo(size, new Literal(Double.POSITIVE_INFINITY, DataTypes.DoubleType))));
        } else {
            lossy = new Not(new EqualNullSafe(converted(cast, tried, from), cast.child()));
        }
        Expression message = new Concat(PythonUtils.toSeq(List.of(
                text(column + " can't hold "),
                converted(cast, cast.child(), DataTypes.StringType),
                text(" as it is"))));
        Expression error = converted(cast, new RaiseError(message), to);
        Expression checked = new If(lossy, error, assigned);
        // Spark takes a column that may be null for no key; the error comes instead of a null.
        return assigned.nullable() ? checked : new KnownNotNull(checked);
    }

    private static Cast converted(Cast like, Expression value, DataType to) {
        return new Cast(value, to, like.timeZoneId(), EvalMode.TRY());
    }

    private static Expression text(String text) {
        return new Literal(UTF8String.fromString(text), DataTypes.StringType);
    }
}
