package paimark.scans;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.TextNode;
import com.fasterxml.jackson.databind.util.RawValue;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;
import paimark.clauses.Rewrite;
import scala.Option;

/**
 * The conditions of a filter that can be compared with a file's statistics: {@code [column, operator, [value, ...]]}.
 *
 * <p>A row must satisfy all of them. What has no such form is left out; then fewer files are skipped.
 */
final class StatedConditions {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** The comparisons, each with its sides exchanged. */
    private static final Map<String, String> TURNED =
            Map.of("=", "=", "<=>", "<=>", "<", ">", "<=", ">=", ">", "<", ">=", "<=");
    /** Values of other types compare otherwise in statistics, or as the session has it. */
    private static final Set<DataType> COMPARED = Set.of(
            DataTypes.ByteType, DataTypes.ShortType, DataTypes.IntegerType, DataTypes.LongType, DataTypes.StringType,
            DataTypes.BooleanType, DataTypes.DateType, DataTypes.TimestampNTZType);

    private final List<ArrayNode> found = new ArrayList<>();

    private StatedConditions() {}

    /** Of a filter directly above a table. */
    static List<ArrayNode> of(Filter filter) {
        Map<ExprId, String> names = new HashMap<>();
        filter.child().output().foreach(each -> names.put(each.exprId(), each.name()));
        // Spark has a column under the name that the statement writes.
        Rewrite<org.apache.spark.sql.catalyst.expressions.Expression> named =
                new Rewrite<>(each -> each instanceof AttributeReference column
                        ? column.withName(names.getOrDefault(column.exprId(), "")) : null);
        StatedConditions conditions = new StatedConditions();
        conditions.add((org.apache.spark.sql.catalyst.expressions.Expression) filter.condition().transformUp(named));
        return conditions.found;
    }

    private void add(org.apache.spark.sql.catalyst.expressions.Expression condition) {
        if (condition instanceof And) {
            add(((And) condition).left());
            add(((And) condition).right());
            return;
        }
        Option<Predicate> translated = DataSourceV2Strategy$.MODULE$.translateFilterV2(condition);
        ArrayNode stated = translated.isDefined() ? stated(translated.get()) : null;
        if (stated != null) {
            found.add(stated);
        }
    }

    private static ArrayNode stated(Predicate given) {
        Expression[] parts = given.children();
        switch (given.name()) {
            case "IS_NULL": return condition(parts[0], "null", List.of());
            case "IS_NOT_NULL": return condition(parts[0], "not null", List.of());
            case "STARTS_WITH": return condition(parts[0], "prefix", values(parts, 1));
            case "IN": return condition(parts[0], "in", values(parts, 1));
            case "NOT": {
                // Spark has NOT of a boolean column, and of that it is true.
                Predicate negated = (Predicate) parts[0];
                List<JsonNode> truth = negated.name().equals("=") ? values(negated.children(), 1) : null;
                boolean isFlag = truth != null && truth.contains(BooleanNode.TRUE);
                return isFlag ? condition(negated.children()[0], "=", List.of(BooleanNode.FALSE)) : null;
            }
            default: break;
        }
        if (!TURNED.containsKey(given.name())) {
            return null;
        }
        boolean isTurned = parts[0] instanceof Literal;
        String operator = isTurned ? TURNED.get(given.name()) : given.name();
        List<JsonNode> values = isTurned ? values(new Expression[] {parts[0]}, 0) : values(parts, 1);
        return condition(parts[isTurned ? 1 : 0], operator.equals("<=>") ? "=" : operator, values);
    }

    /** Null if it is of no column, or of no known values. */
    private static ArrayNode condition(Expression of, String operator, List<JsonNode> values) {
        String[] names = of instanceof NamedReference ? ((NamedReference) of).fieldNames() : new String[0];
        boolean isKnown = values != null && (!values.isEmpty() || operator.endsWith("null"));
        if (!isKnown || names.length != 1 || names[0].isEmpty()) {
            return null;
        }
        ArrayNode condition = JSON.createArrayNode().add(names[0]).add(operator);
        condition.addArray().addAll(values);
        return condition;
    }

    /** The values from a part on, without nulls, which equal nothing; null if one is not known. */
    private static List<JsonNode> values(Expression[] parts, int first) {
        List<JsonNode> values = new ArrayList<>();
        for (int place = first; place < parts.length; place++) {
            if (!(parts[place] instanceof Literal)) {
                return null;
            }
            Literal<?> literal = (Literal<?>) parts[place];
            if (literal.value() != null) {
                JsonNode value = value(literal.value(), literal.dataType());
                if (value == null) {
                    return null;
                }
                values.add(value);
            }
        }
        return values;
    }

    private static JsonNode value(Object value, DataType type) {
        if (type instanceof DecimalType) {
            BigDecimal number = ((Decimal) value).toJavaBigDecimal();
            // With an exponent, by which Python tells it from a whole number.
            return JSON.getNodeFactory().rawValueNode(new RawValue(number.unscaledValue() + "e" + -number.scale()));
        }
        if (!COMPARED.contains(type)) {
            return null;
        }
        if (value instanceof UTF8String) {
            return ((UTF8String) value).isValid() ? TextNode.valueOf(value.toString()) : null;
        }
        return value instanceof Boolean
                ? BooleanNode.valueOf((Boolean) value) : LongNode.valueOf(((Number) value).longValue());
    }
}
