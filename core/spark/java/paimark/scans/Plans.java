package paimark.scans;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedPredicate;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoDir;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ParsedStatement;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * Describes plans in one text, and changes them in one call, where Python would need many calls.
 *
 * <p>Never on executors.
 */
public class Plans {
    /** Nodes under which an INSERT can hide. */
    private static final List WRAPPERS = Arrays.asList(new Object[] {"UnresolvedWith", "Union"});

    /** Plans of a script, or of a statement that is made at run time. */
    private static final List NOT_ONE_STATEMENT =
            Arrays.asList(new Object[] {"CompoundBody", "UnresolvedExecuteImmediate", "ExecuteImmediateQuery"});

    private final String key;

    /** {@code key} is the metadata key by which a stand-in's columns name the place of their table. */
    public Plans(String key) {
        this.key = key;
    }

    /** Whether a parsed plan only computes rows. */
    public boolean isQuery(LogicalPlan plan) {
        if (NOT_ONE_STATEMENT.contains(plan.getClass().getSimpleName())) {
            return false;
        }
        LogicalPlan node = plan;
        while (!isStatement(node) && WRAPPERS.contains(node.getClass().getSimpleName())) {
            node = (LogicalPlan) node.children().head();
        }
        return !isStatement(node);
    }

    private static boolean isStatement(LogicalPlan node) {
        return node instanceof Command || node instanceof ParsedStatement || node instanceof InsertIntoDir;
    }

    /** Adds an optimised plan and its subqueries to a list; {@code plans.py} describes the format. */
    public void describeAll(LogicalPlan plan, ArrayNode into) {
        describe(plan, into);
        Iterator subqueries = plan.subqueriesAll().iterator();
        while (subqueries.hasNext()) {
            describe((LogicalPlan) subqueries.next(), into);
        }
    }

    private void describe(LogicalPlan node, ArrayNode into) {
        ObjectNode description = into.addObject();
        description.put("kind", node.getClass().getSimpleName());
        if (node.children().isEmpty()) {
            String place = placeOf(node);
            if (place != null) {
                description.put("place", place);
                ArrayNode columns = description.putArray("columns");
                Iterator each = node.output().iterator();
                while (each.hasNext()) {
                    Attribute column = (Attribute) each.next();
                    columns.addArray().add(column.exprId().id()).add(column.name());
                }
            }
            return;
        }
        ArrayNode references = description.putArray("references");
        Iterator used = node.references().iterator();
        while (used.hasNext()) {
            references.add(((Attribute) used.next()).exprId().id());
        }
        if (node instanceof Aggregate && placeOf(Summaries.leaf(((Aggregate) node).child())) != null) {
            description.set("summary_columns", Summaries.summaryColumns((Aggregate) node));
        } else if (node instanceof GlobalLimit) {
            description.put("limit", ((GlobalLimit) node).limitExpr().toString());
        } else if (node instanceof LocalLimit) {
            description.put("limit", ((LocalLimit) node).limitExpr().toString());
        } else if (node instanceof Filter && placeOf(((Filter) node).child()) != null) {
            description.put("condition", ((Filter) node).condition().toJSON());
        }
        ArrayNode children = description.putArray("children");
        Iterator each = node.children().iterator();
        while (each.hasNext()) {
            describe((LogicalPlan) each.next(), children);
        }
    }

    /** The place of a stand-in for one of our tables; null for any other node. */
    public String placeOf(LogicalPlan node) {
        // Only an RDD is a stand-in: if no row is left, the optimiser replaces it by another leaf with its columns.
        if (!(node instanceof LogicalRDD) || node.output().isEmpty()) {
            return null;
        }
        Attribute first = (Attribute) node.output().head();
        return first.metadata().contains(key) ? first.metadata().getString(key) : null;
    }

    /**
     * The frame of an optimised plan, with each stand-in replaced by the data frame of its place.
     *
     * <p>Nothing is analysed again, so the description of the plan is valid for this one. Its columns keep their
     * names: Spark's optimiser doesn't change them.
     */
    public Dataset withTables(Dataset planned, Map tables) {
        LogicalPlan optimized = planned.queryExecution().optimizedPlan();
        LogicalPlan whole = (LogicalPlan) optimized.transformUpWithSubqueries(new Replacing(this, tables));
        if (Summaries.isLeft(whole)) {
            throw new IllegalStateException("a summary would be taken for a table's rows");
        }
        whole.setAnalyzed();
        return Dataset.ofRows((SparkSession) (Object) planned.sparkSession(), whole);
    }

    LogicalPlan replaced(LogicalPlan node, Map tables) {
        if (node instanceof Aggregate && Summaries.isSummary(Summaries.leaf(((Aggregate) node).child()))) {
            return folded(Summaries.answered((Aggregate) node));
        }
        if (node instanceof Filter && ((Filter) node).child() instanceof LocalRelation) {
            return filtered((Filter) node, (LocalRelation) ((Filter) node).child());
        }
        if (node instanceof Project || node instanceof GlobalLimit) {
            return isHere(below(node)) ? folded(node) : node;
        }
        String place = placeOf(node);
        if (place == null) {
            return node;
        }
        LogicalPlan table = ((Dataset) tables.get(place)).queryExecution().analyzed();
        boolean isSummary = Summaries.isSummary(table);
        if (table.output().length() != node.output().length() + (isSummary ? 1 : 0)) {
            throw new IllegalStateException("a table has other columns than its stand-in");
        }
        if (table instanceof LocalRelation && !isSummary) {
            return local(node.output(), ((LocalRelation) table).data());
        }
        ArrayList columns = new ArrayList();
        for (int number = 0; number < node.output().length(); number++) {
            Attribute column = (Attribute) table.output().apply(number);
            Attribute as = (Attribute) node.output().apply(number);
            columns.add(alias(column, as));
        }
        if (isSummary) {
            columns.add(table.output().last());
        }
        return new Project(PythonUtils.toSeq(columns), table);
    }

    /** Whether a node has its rows in this process, so that expressions on them can be evaluated now. */
    private static boolean isHere(LogicalPlan node) {
        return node instanceof LocalRelation && !Summaries.isSummary(node);
    }

    /** Evaluates a node on rows that are in this process. */
    private static LogicalPlan folded(LogicalPlan node) {
        return (LogicalPlan) ConvertToLocalRelation$.MODULE$.apply(node);
    }

    private static LogicalPlan below(LogicalPlan node) {
        LogicalPlan child = (LogicalPlan) node.children().head();
        return child instanceof LocalLimit ? ((LocalLimit) child).child() : child;
    }

    private static LocalRelation local(Seq columns, Seq rows) {
        return new LocalRelation(columns, rows, false, scala.Option.apply(null));
    }

    /** Filters rows that are in this process. Spark would compile new code for each value of a condition. */
    private static LogicalPlan filtered(Filter filter, LocalRelation rows) {
        Binding binding = new Binding(rows.output());
        Expression condition = (Expression) filter.condition().transformUp(binding);
        if (!condition.deterministic() || binding.isForSpark) {
            return filter;
        }
        InterpretedPredicate predicate = new InterpretedPredicate(condition);
        ArrayList kept = new ArrayList();
        Iterator each = rows.data().iterator();
        while (each.hasNext()) {
            InternalRow row = (InternalRow) each.next();
            if (predicate.eval(row)) {
                kept.add(row);
            }
        }
        return local(rows.output(), PythonUtils.toSeq(kept));
    }

    private static Alias alias(Attribute column, Attribute as) {
        Seq none = PythonUtils.toSeq(new ArrayList());
        return new Alias(column, as.name(), as.exprId(), none, scala.Option.apply(as.metadata()), none);
    }
}

/** Replaces stand-ins by their tables. */
final class Replacing extends AbstractPartialFunction {
    private final Plans plans;
    private final Map tables;

    Replacing(Plans plans, Map tables) {
        this.plans = plans;
        this.tables = tables;
    }

    public boolean isDefinedAt(Object node) {
        return true;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
        return plans.replaced((LogicalPlan) node, tables);
    }
}

/** Replaces columns by indexes in a row. {@code isForSpark}: an expression needs Spark's planner. */
final class Binding extends AbstractPartialFunction {
    private final Seq columns;
    boolean isForSpark;

    Binding(Seq columns) {
        this.columns = columns;
    }

    public boolean isDefinedAt(Object expression) {
        return true;
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
        if (!(expression instanceof Attribute)) {
            isForSpark |= expression instanceof Unevaluable || expression instanceof PlanExpression;
            return expression;
        }
        for (int place = 0; place < columns.length(); place++) {
            Attribute column = (Attribute) columns.apply(place);
            if (column.exprId().equals(((Attribute) expression).exprId())) {
                return new BoundReference(place, column.dataType(), column.nullable());
            }
        }
        isForSpark = true;
        return expression;
    }
}
