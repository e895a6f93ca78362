package paimark.scans;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.TreeSet;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedProjection;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.math.Ordering;
import scala.runtime.AbstractPartialFunction;

/**
 * Evaluates aggregates on a summary of a table. Each row of a summary stands for many rows of the table that are
 * equal in the relevant columns. For columns of minima and maxima there are two rows: one has the minima, the other
 * the maxima. The last column tells for how many rows each one stands.
 *
 * <p>Never on executors.
 */
public class Summaries {
    /** The column with the number of rows that a row stands for. */
    public static final String ROWS = "__paimark_rows";

    /**
     * The columns of one table that an aggregate needs, as {@code {"values": [name], "bounds": [name]}}; null if a
     * summary can't answer it.
     */
    public static ObjectNode summaryColumns(Aggregate aggregate) {
        SummaryColumns columns = new SummaryColumns();
        if (!columns.takes(aggregate)) {
            return null;
        }
        ObjectNode description = new ObjectMapper().createObjectNode();
        list(columns.values, description.putArray("values"));
        list(columns.bounds, description.putArray("bounds"));
        return description;
    }

    private static void list(TreeSet names, ArrayNode into) {
        java.util.Iterator each = names.iterator();
        while (each.hasNext()) {
            into.add((String) each.next());
        }
    }

    private final SparkSession session;

    public Summaries(SparkSession session) {
        this.session = session;
    }

    /**
     * A summary of a {@code table}, a schema in JSON. {@code given} are rows in JSON: the number of rows that each
     * stands for, then values, as texts, of the columns with these {@code names}; other columns are null.
     */
    public Dataset summary(String table, List names, String given) throws Exception {
        StructType columns = (StructType) DataType.fromJson(table);
        int width = columns.length();
        ArrayList rows = new ArrayList();
        JsonNode listed = (JsonNode) (Object) new ObjectMapper().readTree(given);
        for (int number = 0; number < listed.size(); number++) {
            JsonNode fields = (JsonNode) (Object) listed.get(number);
            Object[] row = new Object[width + 1];
            row[width] = Long.valueOf(((JsonNode) (Object) fields.get(0)).asLong());
            for (int place = 0; place < names.size(); place++) {
                JsonNode text = (JsonNode) (Object) fields.get(place + 1);
                int column = columns.fieldIndex((String) names.get(place));
                row[column] = text.isNull() ? null : Scans.value(columns.apply(column).dataType(), text.asText());
            }
            rows.add(new GenericInternalRow(row));
        }
        Seq attributes = DataTypeUtils.toAttributes(columns.add(ROWS, DataTypes.LongType, false));
        return Dataset.ofRows(session, new LocalRelation(attributes, PythonUtils.toSeq(rows), false, scala.Option.apply(null)));
    }

    /** The node below filters and projections. */
    public static LogicalPlan leaf(LogicalPlan node) {
        while (node instanceof Filter || node instanceof Project) {
            node = (LogicalPlan) node.children().head();
        }
        return node;
    }

    public static boolean isSummary(LogicalPlan node) {
        return node instanceof LocalRelation
                && !node.output().isEmpty()
                && ((Attribute) node.output().last()).name().equals(ROWS);
    }

    /** Whether a summary is left in a plan, which would treat its rows as those of a table. */
    public static boolean isLeft(LogicalPlan plan) {
        if (isSummary(plan)) {
            return true;
        }
        Iterator below = plan.children().iterator();
        while (below.hasNext()) {
            if (isLeft((LogicalPlan) below.next())) {
                return true;
            }
        }
        return false;
    }

    /** The rows of an aggregate over a summary; {@code summaryColumns} must have accepted it. */
    public static LogicalPlan answered(Aggregate aggregate) {
        Summary summary = Summary.of(aggregate.child());
        Functions functions = new Functions();
        Seq named = functions.taken(aggregate.aggregateExpressions());
        ArrayList output = listed(aggregate.groupingExpressions());
        int groups = output.size();
        ArrayList wanted = new ArrayList(output);
        wanted.addAll(functions.arguments);
        output.addAll(functions.results);
        Groups found = new Groups(groups, functions.functions);
        ArrayList rows = summary.evaluated(PythonUtils.toSeq(wanted));
        for (int number = 0; number < rows.size(); number++) {
            found.add((InternalRow) rows.get(number), ((Long) summary.counts.get(number)).longValue(), wanted);
        }
        Seq answers = PythonUtils.toSeq(found.rows());
        LogicalPlan made = new LocalRelation(PythonUtils.toSeq(output), answers, false, scala.Option.apply(null));
        return new Project(named, made);
    }

    static ArrayList listed(Seq items) {
        ArrayList list = new ArrayList();
        Iterator each = items.iterator();
        while (each.hasNext()) {
            list.add(each.next());
        }
        return list;
    }
}

/** The rows of a summary after filters and projections. */
final class Summary {
    private final Seq output;
    private final ArrayList rows;
    final ArrayList counts;

    private Summary(Seq output, ArrayList rows, ArrayList counts) {
        this.output = output;
        this.rows = rows;
        this.counts = counts;
    }

    static Summary of(LogicalPlan node) {
        if (node instanceof LocalRelation) {
            ArrayList rows = Summaries.listed(((LocalRelation) node).data());
            ArrayList counts = new ArrayList();
            int last = node.output().length() - 1;
            for (int number = 0; number < rows.size(); number++) {
                counts.add(Long.valueOf(((InternalRow) rows.get(number)).getLong(last)));
            }
            return new Summary(node.output(), rows, counts);
        }
        Summary below = of((LogicalPlan) node.children().head());
        if (node instanceof Project) {
            return new Summary(node.output(), below.evaluated(((Project) node).projectList()), below.counts);
        }
        ArrayList condition = new ArrayList();
        condition.add(((Filter) node).condition());
        ArrayList truths = below.evaluated(PythonUtils.toSeq(condition));
        ArrayList rows = new ArrayList();
        ArrayList counts = new ArrayList();
        for (int number = 0; number < truths.size(); number++) {
            InternalRow truth = (InternalRow) truths.get(number);
            if (!truth.isNullAt(0) && truth.getBoolean(0)) {
                rows.add(below.rows.get(number));
                counts.add(below.counts.get(number));
            }
        }
        return new Summary(below.output, rows, counts);
    }

    ArrayList evaluated(Seq expressions) {
        InterpretedProjection projection = new InterpretedProjection(expressions, output);
        ArrayList made = new ArrayList();
        for (int number = 0; number < rows.size(); number++) {
            made.add(projection.apply((InternalRow) rows.get(number)));
        }
        return made;
    }
}

/** Replaces the aggregate functions of an aggregate by columns with their results. */
final class Functions extends AbstractPartialFunction {
    final ArrayList functions = new ArrayList();
    final ArrayList arguments = new ArrayList();
    final ArrayList results = new ArrayList();

    Seq taken(Seq named) {
        ArrayList made = new ArrayList();
        Iterator each = named.iterator();
        while (each.hasNext()) {
            made.add(((Expression) each.next()).transformDown(this));
        }
        return PythonUtils.toSeq(made);
    }

    public boolean isDefinedAt(Object expression) {
        return expression instanceof AggregateExpression;
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
        if (!isDefinedAt(expression)) {
            return otherwise.apply(expression);
        }
        AggregateExpression function = (AggregateExpression) expression;
        Seq none = PythonUtils.toSeq(new ArrayList());
        AttributeReference result = new AttributeReference(
                "result", function.dataType(), true, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), none);
        functions.add(function.aggregateFunction());
        arguments.add(SummaryColumns.argument(function));
        results.add(result);
        return result;
    }
}

/** Groups rows by the values of their first columns, and evaluates functions of the other columns. */
final class Groups {
    private final int keys;
    private final ArrayList functions;
    private final LinkedHashMap groups = new LinkedHashMap();

    Groups(int keys, ArrayList functions) {
        this.keys = keys;
        this.functions = functions;
        if (keys == 0) {
            // Without GROUP BY there is one row, even for no input.
            results(new ArrayList());
        }
    }

    void add(InternalRow row, long count, ArrayList columns) {
        ArrayList key = new ArrayList();
        for (int number = 0; number < keys; number++) {
            key.add(value(row, number, columns));
        }
        Object[] results = results(key);
        for (int number = 0; number < results.length; number++) {
            Object value = value(row, keys + number, columns);
            Object function = functions.get(number);
            if (function instanceof Count) {
                long before = ((Long) results[number]).longValue();
                results[number] = Long.valueOf(before + (value == null ? 0 : count));
            } else if (value != null) {
                DataType type = ((Expression) columns.get(keys + number)).dataType();
                results[number] = function instanceof Min ? lesser(type, results[number], value) : greater(type, results[number], value);
            }
        }
    }

    private static Object value(InternalRow row, int place, ArrayList columns) {
        return row.isNullAt(place) ? null : row.get(place, ((Expression) columns.get(place)).dataType());
    }

    private Object[] results(ArrayList key) {
        Object[] results = (Object[]) groups.get(key);
        if (results == null) {
            results = new Object[functions.size()];
            for (int number = 0; number < results.length; number++) {
                results[number] = functions.get(number) instanceof Count ? Long.valueOf(0) : null;
            }
            groups.put(key, results);
        }
        return results;
    }

    private static Object lesser(DataType type, Object one, Object other) {
        return one == null || compared(type, other, one) < 0 ? other : one;
    }

    private static Object greater(DataType type, Object one, Object other) {
        return one == null || compared(type, other, one) > 0 ? other : one;
    }

    private static int compared(DataType type, Object one, Object other) {
        return ((Ordering) TypeUtils.getInterpretedOrdering(type)).compare(one, other);
    }

    ArrayList rows() {
        ArrayList rows = new ArrayList();
        java.util.Iterator each = groups.entrySet().iterator();
        while (each.hasNext()) {
            java.util.Map.Entry group = (java.util.Map.Entry) each.next();
            ArrayList row = new ArrayList((ArrayList) group.getKey());
            Object[] results = (Object[]) group.getValue();
            for (int number = 0; number < results.length; number++) {
                row.add(results[number]);
            }
            rows.add(new GenericInternalRow(row.toArray()));
        }
        return rows;
    }
}
