package paimark.scans;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedProjection;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
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
import paimark.clauses.Rewrite;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Evaluates aggregates on a summary of a table. Each row of a summary stands for many rows of the table that are
 * equal in the relevant columns. For columns of minima and maxima there are two rows: one has the minima, the other
 * the maxima. The last column tells for how many rows each one stands.
 *
 * <p>Never on executors.
 */
public final class Summaries {
    /** The column with the number of rows that a row stands for. */
    private static final String ROWS = "__paimark_rows";
    private static final ObjectMapper JSON = new ObjectMapper();

    private final SparkSession session;

    public Summaries(SparkSession session) {
        this.session = session;
    }

    /**
     * A summary of a {@code table}, a schema in JSON. {@code given} are rows in JSON: the number of rows that each
     * stands for, then values, as texts, of the columns with these {@code names}; other columns are null.
     */
    public Dataset<Row> summary(String table, List<String> names, String given) throws Exception {
        StructType columns = (StructType) DataType.fromJson(table);
        int width = columns.length();
        List<InternalRow> rows = new ArrayList<>();
        for (JsonNode fields : JSON.readTree(given)) {
            Object[] row = new Object[width + 1];
            row[width] = fields.get(0).asLong();
            for (int place = 0; place < names.size(); place++) {
                JsonNode text = fields.get(place + 1);
                int column = columns.fieldIndex(names.get(place));
                row[column] = text.isNull() ? null : Scans.value(columns.apply(column).dataType(), text.asText());
            }
            rows.add(new GenericInternalRow(row));
        }
        Seq<AttributeReference> attributes = DataTypeUtils.toAttributes(columns.add(ROWS, DataTypes.LongType, false));
        return Dataset.ofRows(session, local(CollectionConverters.asJava(attributes), rows));
    }

    private static LocalRelation local(List<? extends Attribute> columns, List<InternalRow> rows) {
        return new LocalRelation(
                PythonUtils.toSeq(new ArrayList<>(columns)), PythonUtils.toSeq(rows), false, Option.empty());
    }

    /** The node below filters and projections. */
    static LogicalPlan leaf(LogicalPlan node) {
        LogicalPlan below = node;
        while (below instanceof Filter || below instanceof Project) {
            below = below.children().head();
        }
        return below;
    }

    static boolean isSummary(LogicalPlan node) {
        return node instanceof LocalRelation && !node.output().isEmpty() && node.output().last().name().equals(ROWS);
    }

    /** The rows of an aggregate over a summary; {@code SummaryColumns} must have taken it. */
    static LogicalPlan answered(Aggregate aggregate) {
        Map<AggregateExpression, AttributeReference> results = new LinkedHashMap<>();
        Rewrite<Expression> resulting = new Rewrite<>(each -> each instanceof AggregateExpression
                ? results.computeIfAbsent((AggregateExpression) each, Summaries::result) : null);
        List<NamedExpression> named = new ArrayList<>();
        aggregate.aggregateExpressions().foreach(
                each -> named.add((NamedExpression) ((Expression) each).transformDown(resulting)));

        List<Expression> groups = CollectionConverters.asJava(aggregate.groupingExpressions());
        List<Expression> wanted = new ArrayList<>(groups);
        List<Attribute> output = new ArrayList<>();
        groups.forEach(each -> output.add((Attribute) each));
        List<AggregateFunction> functions = new ArrayList<>();
        results.forEach((function, result) -> {
            wanted.add(SummaryColumns.argument(function));
            output.add(result);
            functions.add(function.aggregateFunction());
        });
        List<InternalRow> rows = grouped(Summary.of(aggregate.child()), wanted, groups.size(), functions);
        return new Project(PythonUtils.toSeq(named), local(output, rows));
    }

    private static AttributeReference result(AggregateExpression function) {
        return new AttributeReference("result", function.dataType(), true, Metadata.empty(),
                NamedExpression.newExprId(), PythonUtils.toSeq(List.of()));
    }

    /** Groups rows by the values of their first {@code keys} columns, and evaluates functions of the other ones. */
    private static List<InternalRow> grouped(
            Summary summary, List<Expression> columns, int keys, List<AggregateFunction> functions) {
        Map<List<Object>, Object[]> groups = new LinkedHashMap<>();
        if (keys == 0) {
            // Without GROUP BY there is one row, even for no input.
            groups.put(List.of(), nothing(functions));
        }
        for (Summary.Counted row : summary.evaluated(PythonUtils.toSeq(columns))) {
            List<Object> key = new ArrayList<>();
            for (int place = 0; place < keys; place++) {
                key.add(value(row.values, place, columns));
            }
            Object[] results = groups.computeIfAbsent(key, each -> nothing(functions));
            for (int number = 0; number < results.length; number++) {
                Object value = value(row.values, keys + number, columns);
                if (value != null) {
                    DataType type = columns.get(keys + number).dataType();
                    results[number] = together(functions.get(number), type, results[number], value, row.count);
                }
            }
        }
        List<InternalRow> rows = new ArrayList<>();
        groups.forEach((key, results) -> {
            List<Object> row = new ArrayList<>(key);
            row.addAll(Arrays.asList(results));
            rows.add(new GenericInternalRow(row.toArray()));
        });
        return rows;
    }

    private static Object[] nothing(List<AggregateFunction> functions) {
        return functions.stream().map(each -> each instanceof Count ? (Object) 0L : null).toArray();
    }

    private static Object value(InternalRow row, int place, List<Expression> columns) {
        return row.isNullAt(place) ? null : row.get(place, columns.get(place).dataType());
    }

    /** What a function gives of its result so far, null for none, and of {@code count} rows with a value. */
    private static Object together(AggregateFunction function, DataType type, Object before, Object value, long count) {
        if (function instanceof Count) {
            return (Long) before + count;
        }
        Comparator<Object> order = TypeUtils.getInterpretedOrdering(type);
        boolean isBeyond = before == null
                || (function instanceof Min ? order.compare(value, before) < 0 : order.compare(value, before) > 0);
        return isBeyond ? value : before;
    }

    /** The rows of a summary after filters and projections. */
    private record Summary(Seq<Attribute> output, List<Counted> rows) {
        /** A row that stands for so many rows. */
        private record Counted(InternalRow values, long count) {}

        static Summary of(LogicalPlan node) {
            List<Counted> rows = new ArrayList<>();
            if (node instanceof LocalRelation) {
                int last = node.output().length() - 1;
                ((LocalRelation) node).data().foreach(each -> rows.add(new Counted(each, each.getLong(last))));
                return new Summary(node.output(), rows);
            }
            Summary below = of(node.children().head());
            if (node instanceof Project) {
                Seq<?> columns = ((Project) node).projectList();
                return new Summary(node.output(), below.evaluated((Seq<Expression>) columns));
            }
            List<Expression> condition = List.of(((Filter) node).condition());
            List<Counted> truths = below.evaluated(PythonUtils.toSeq(condition));
            for (int number = 0; number < truths.size(); number++) {
                if (Plans.isTrue(truths.get(number).values)) {
                    rows.add(below.rows.get(number));
                }
            }
            return new Summary(below.output, rows);
        }

        List<Counted> evaluated(Seq<Expression> expressions) {
            InterpretedProjection projection = new InterpretedProjection(expressions, output);
            List<Counted> made = new ArrayList<>();
            rows.forEach(each -> made.add(new Counted(projection.apply(each.values), each.count)));
            return made;
        }
    }
}
