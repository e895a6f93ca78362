package paimark.scans;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedProjection;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
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
import paimark.clauses.Rewrite;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Tells what a plan is, and changes it in one call, where Python would need many calls.
 *
 * <p>Never on executors.
 */
public final class Plans {
    /** Nodes under which an INSERT can hide. */
    private static final Set<String> WRAPPERS = Set.of("UnresolvedWith", "Union");

    /** Plans of a script, or of a statement that is made at run time. */
    private static final Set<String> NOT_ONE_STATEMENT =
            Set.of("CompoundBody", "UnresolvedExecuteImmediate", "ExecuteImmediateQuery");

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
            node = node.children().head();
        }
        return !isStatement(node);
    }

    private static boolean isStatement(LogicalPlan node) {
        return node instanceof Command || node instanceof ParsedStatement || node instanceof InsertIntoDir;
    }

    /** The place of a stand-in for one of our tables; null for any other node. */
    public String placeOf(LogicalPlan node) {
        // Only an RDD is a stand-in: if no row is left, the optimiser replaces it by another leaf with its columns.
        if (!(node instanceof LogicalRDD) || node.output().isEmpty()) {
            return null;
        }
        Attribute first = node.output().head();
        return first.metadata().contains(key) ? first.metadata().getString(key) : null;
    }

    /**
     * The frame of an optimised plan, with each stand-in replaced by the data frame of its place.
     *
     * <p>Nothing is analysed again, so the description of the plan is valid for this one. Its columns keep their
     * names: Spark's optimiser doesn't change them.
     */
    public Dataset<Row> withTables(Dataset<Row> planned, Map<String, Dataset<Row>> tables) {
        LogicalPlan optimized = planned.queryExecution().optimizedPlan();
        LogicalPlan whole = (LogicalPlan)
                optimized.transformUpWithSubqueries(new Rewrite<LogicalPlan>(each -> replaced(each, tables)));
        if (whole.exists(Summaries::isSummary)) {
            throw new IllegalStateException("a summary would be taken for a table's rows");
        }
        whole.setAnalyzed();
        return Dataset.ofRows((SparkSession) planned.sparkSession(), whole);
    }

    private LogicalPlan replaced(LogicalPlan node, Map<String, Dataset<Row>> tables) {
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
        LogicalPlan table = tables.get(place).queryExecution().analyzed();
        boolean isSummary = Summaries.isSummary(table);
        if (table.output().length() != node.output().length() + (isSummary ? 1 : 0)) {
            throw new IllegalStateException("a table has other columns than its stand-in");
        }
        if (table instanceof LocalRelation && !isSummary) {
            return local(node.output(), ((LocalRelation) table).data());
        }
        List<NamedExpression> columns = new ArrayList<>();
        for (int number = 0; number < node.output().length(); number++) {
            columns.add(alias(table.output().apply(number), node.output().apply(number)));
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
        return ConvertToLocalRelation$.MODULE$.apply(node);
    }

    private static LogicalPlan below(LogicalPlan node) {
        LogicalPlan child = node.children().head();
        return child instanceof LocalLimit ? ((LocalLimit) child).child() : child;
    }

    private static LocalRelation local(Seq<Attribute> columns, Seq<InternalRow> rows) {
        return new LocalRelation(columns, rows, false, Option.empty());
    }

    /** Filters rows that are in this process. Spark would compile new code for each value of a condition. */
    private static LogicalPlan filtered(Filter filter, LocalRelation rows) {
        Expression condition = filter.condition();
        if (!condition.deterministic() || condition.exists(each -> isForSpark(each, rows))) {
            return filter;
        }
        InterpretedProjection truth = new InterpretedProjection(PythonUtils.toSeq(List.of(condition)), rows.output());
        return local(rows.output(), rows.data().filter(row -> isTrue(truth.apply(row))).toSeq());
    }

    /** Whether the only value of a row is true. */
    static boolean isTrue(InternalRow row) {
        return !row.isNullAt(0) && row.getBoolean(0);
    }

    /** Whether an expression needs Spark's planner. */
    private static boolean isForSpark(Expression expression, LocalRelation rows) {
        if (expression instanceof Attribute) {
            return !rows.outputSet().contains((Attribute) expression);
        }
        return expression instanceof Unevaluable || expression instanceof PlanExpression;
    }

    private static Alias alias(Attribute column, Attribute as) {
        Seq<String> none = PythonUtils.toSeq(new ArrayList<>());
        return new Alias(column, as.name(), as.exprId(), none, Option.apply(as.metadata()), none);
    }
}
