package paimark.scans;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Window;

/**
 * What a query needs of each of our tables, by its optimised plan: {@code ViewNeeds} in Python has the fields.
 *
 * <p>Only columns that are certainly not needed are left out: below an unknown kind of node all columns are needed.
 *
 * <p>Never on executors.
 */
final class Needs {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int ALL = -1;

    private final Plans plans;
    private final Map<String, Need> byPlace = new LinkedHashMap<>();

    /** Of one table. A row must satisfy all conditions; {@code summary} is null if rows must be read. */
    private static final class Need {
        final Set<String> columns = new TreeSet<>();
        List<ArrayNode> conditions;
        int limit;
        SummaryColumns summary;
    }

    private Needs(Plans plans) {
        this.plans = plans;
    }

    /** By the places of tables. {@code limit} is how many rows of the query are wanted, negative for all. */
    static ObjectNode of(Plans plans, LogicalPlan optimized, int limit) {
        Needs needs = new Needs(plans);
        needs.walk(optimized, null, limit, null, null);
        optimized.subqueriesAll().foreach(each -> needs.walk((LogicalPlan) each, null, ALL, null, null));
        ObjectNode all = JSON.createObjectNode();
        needs.byPlace.forEach((place, need) -> {
            ObjectNode told = all.putObject(place);
            told.set("columns", JSON.valueToTree(need.columns));
            told.putArray("conditions").addAll(need.conditions);
            if (need.limit >= 0) {
                told.put("limit", need.limit);
            }
            if (need.summary != null) {
                ObjectNode summary = told.putObject("summary_columns");
                summary.set("values", JSON.valueToTree(need.summary.values));
                summary.set("bounds", JSON.valueToTree(need.summary.bounds));
            }
        });
        return all;
    }

    /**
     * {@code wanted} are the node's output columns that are used, null for all. {@code above} is the filter directly
     * above it, {@code summary} of an aggregate with only filters and projections between.
     */
    private Void walk(LogicalPlan node, Set<ExprId> wanted, int limit, Filter above, SummaryColumns summary) {
        if (node.children().isEmpty()) {
            String place = plans.placeOf(node);
            if (place != null) {
                add(place, node, wanted, limit, above, summary);
            }
            return null;
        }
        boolean isLimit = node instanceof GlobalLimit || node instanceof LocalLimit;
        boolean passes = isLimit || node instanceof Filter || node instanceof Sort || node instanceof Join
                || node instanceof Window;
        boolean makes = node instanceof Project || node instanceof Aggregate;
        Set<ExprId> below = makes || passes && wanted != null ? new HashSet<>(makes ? Set.of() : wanted) : null;
        if (below != null) {
            node.references().foreach(each -> below.add(each.exprId()));
        }
        int most = isLimit ? least(limit, rows(node)) : node instanceof Project ? limit : ALL;
        Filter filter = node instanceof Filter ? (Filter) node : null;
        SummaryColumns answering = node instanceof Aggregate ? summary((Aggregate) node) : summary;
        node.children().foreach(each -> walk(each, below, most, filter, answering));
        return null;
    }

    private SummaryColumns summary(Aggregate node) {
        return plans.placeOf(Summaries.leaf(node.child())) == null ? null : SummaryColumns.of(node);
    }

    private static int rows(LogicalPlan node) {
        Expression limit =
                node instanceof GlobalLimit ? ((GlobalLimit) node).limitExpr() : ((LocalLimit) node).limitExpr();
        return limit.toString().matches("[0-9]{1,9}") ? Integer.parseInt(limit.toString()) : ALL;
    }

    /** Of two numbers of rows, negative for all. */
    static int least(int one, int other) {
        return one < 0 || other < 0 ? Math.max(one, other) : Math.min(one, other);
    }

    private void add(
            String place, LogicalPlan table, Set<ExprId> wanted, int limit, Filter above, SummaryColumns summary) {
        List<ArrayNode> conditions = above == null ? new ArrayList<>() : StatedConditions.of(above);
        Need need = byPlace.get(place);
        if (need == null) {
            need = new Need();
            need.conditions = conditions;
            need.limit = limit;
            need.summary = summary;
            byPlace.put(place, need);
        } else {
            need.conditions.retainAll(conditions);
            need.limit = need.limit < 0 || limit < 0 ? ALL : Math.max(limit, need.limit);
            need.summary = need.summary == null || summary == null ? null : need.summary.and(summary);
        }
        Set<String> columns = need.columns;
        table.output().foreach(each -> (wanted == null || wanted.contains(each.exprId())) && columns.add(each.name()));
    }
}
