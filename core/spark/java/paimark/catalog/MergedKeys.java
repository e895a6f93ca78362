package paimark.catalog;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import paimark.clauses.Rewrite;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A MERGE with a small source sends only those rows of its target from task to task that can have a row there.
 *
 * <p>Where rows that match nothing are inserted, Spark keeps every row of the source in its join, so it can't send the
 * source to all tasks: it sorts both sides by the key. So the keys go to all tasks first.
 */
final class MergedKeys extends Rule<LogicalPlan> {
    private static final List<Class<?>> STEADY = List.of(LocalRelation.class, OneRowRelation.class, Range.class);

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        return (LogicalPlan) plan.transformDown(new Rewrite<LogicalPlan>(each -> {
            if (!(each instanceof MergeRows)) {
                return null;
            }
            LogicalPlan child = ((MergeRows) each).child();
            LogicalPlan less = (LogicalPlan) child.transformDown(new Rewrite<>(this::joined));
            return less.fastEquals(child) ? null : each.withNewChildren(seq(List.of(less)));
        }));
    }

    private LogicalPlan joined(LogicalPlan node) {
        if (!(node instanceof Join)) {
            return null;
        }
        Join join = (Join) node;
        boolean needsMatches = join.joinType() == RightOuter$.MODULE$ || join.joinType() == Inner$.MODULE$;
        if (!needsMatches || join.condition().isEmpty() || join.left() instanceof Join || !isSmall(join.right())
                || !isSteady(join.right())) {
            return null;
        }
        List<NamedExpression> keys = new ArrayList<>();
        Expression equal = equal(join.condition().get(), join.left().outputSet(), join.right().outputSet(), keys);
        if (equal == null) {
            return null;
        }
        LogicalPlan source = new Project(seq(keys), join.right());
        LogicalPlan target = new Join(join.left(), source, LeftSemi$.MODULE$, Option.apply(equal), JoinHint.NONE());
        return new Join(target, join.right(), join.joinType(), join.condition(), join.hint());
    }

    /** What of the condition says that something of the target equals a key; null: nothing does. */
    private static Expression equal(Expression of, AttributeSet target, AttributeSet source,
            List<NamedExpression> keys) {
        if (of instanceof And) {
            Expression left = equal(((And) of).left(), target, source, keys);
            Expression right = equal(((And) of).right(), target, source, keys);
            return left == null ? right : right == null ? left : new And(left, right);
        }
        if (!(of instanceof EqualTo) || !of.deterministic()) {
            return null;
        }
        Expression one = ((EqualTo) of).left(), other = ((EqualTo) of).right();
        if (isOf(one, source) && isOf(other, target)) {
            Expression first = one;
            one = other;
            other = first;
        }
        if (!isOf(one, target) || !isOf(other, source)) {
            return null;
        }
        Alias key = new Alias(other, "key", NamedExpression$.MODULE$.newExprId(), seq(List.of()), Option.empty(),
                seq(List.of()));
        keys.add(key);
        return new EqualTo(one, key.toAttribute());
    }

    private static boolean isOf(Expression expression, AttributeSet columns) {
        return !expression.references().isEmpty() && expression.references().subsetOf(columns);
    }

    private boolean isSmall(LogicalPlan source) {
        return source.stats().sizeInBytes().compare(
                scala.math.BigInt.apply(conf().autoBroadcastJoinThreshold())) <= 0;
    }

    /** It is read twice, and must have the same rows both times: those of files that Spark has listed, or given ones. */
    private static boolean isSteady(LogicalPlan plan) {
        if (!plan.deterministic()) {
            return false;
        }
        if (plan.children().isEmpty()) {
            return STEADY.contains(plan.getClass()) || (plan instanceof LogicalRelation
                    && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation);
        }
        return CollectionConverters.asJava(plan.children()).stream().allMatch(MergedKeys::isSteady);
    }

    private static <T> Seq<T> seq(List<T> of) {
        return CollectionConverters.asScala(of).toList();
    }
}
