package paimark.library;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.predicate.CompoundPredicate;
import org.apache.paimon.predicate.LeafPredicate;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.predicate.PredicateVisitor;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeRoot;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** Spark's conditions as Paimon's; empty where Paimon has no equal one, and Spark alone applies it. */
final class PushedConditions {
    /** 1582-10-15, since 1970. */
    private static final int FIRST_GREGORIAN_DAY = -141_427;

    private final RowType type;
    private final PredicateBuilder builder;

    PushedConditions(RowType type) {
        this.type = type;
        builder = new PredicateBuilder(type);
    }

    Optional<Predicate> of(Expression given) {
        if (!(given instanceof org.apache.spark.sql.connector.expressions.filter.Predicate)) {
            return Optional.empty();
        }
        Expression[] children = given.children();
        String name = ((org.apache.spark.sql.connector.expressions.filter.Predicate) given).name();
        switch (name) {
            case "AND": {
                Optional<Predicate> left = of(children[0]), right = of(children[1]);
                return left.isPresent() && right.isPresent()
                        ? Optional.of(PredicateBuilder.and(left.get(), right.get())) : Optional.empty();
            }
            case "OR": {
                Optional<Predicate> left = of(children[0]), right = of(children[1]);
                return left.isPresent() && right.isPresent()
                        ? Optional.of(PredicateBuilder.or(left.get(), right.get())) : Optional.empty();
            }
            case "NOT":
                // Of a null, NOT a <=> 1 holds, and the library's "not equal" does not.
                return isNullSafe(children[0]) ? Optional.empty() : of(children[0]).flatMap(Predicate::negate);
            case "IS_NULL":
            case "IS_NOT_NULL": {
                int field = field(children[0]);
                return field < 0 ? Optional.empty()
                        : Optional.of(name.equals("IS_NULL") ? builder.isNull(field) : builder.isNotNull(field));
            }
            case "IN": {
                int field = field(children[0]);
                List<Object> values = new ArrayList<>();
                for (int i = 1; i < children.length; i++) {
                    Object value = field < 0 ? null : value(children[i], type.getTypeAt(field));
                    if (value == null) {
                        return Optional.empty();
                    }
                    values.add(value);
                }
                return Optional.of(builder.in(field, values));
            }
            case "=": case "<=>": case "<>": case "<": case "<=": case ">": case ">=":
            case "STARTS_WITH": case "ENDS_WITH": case "CONTAINS": {
                if (children.length != 2) {
                    return Optional.empty();
                }
                boolean turned = children[0] instanceof Literal;
                int field = field(children[turned ? 1 : 0]);
                Object value = field < 0 ? null : value(children[turned ? 0 : 1], type.getTypeAt(field));
                return value == null ? Optional.empty() : compared(turned ? turned(name) : name, field, value);
            }
            default:
                return Optional.empty();
        }
    }

    private Optional<Predicate> compared(String name, int field, Object value) {
        switch (name) {
            case "=": case "<=>": return Optional.of(builder.equal(field, value));
            case "<>": return Optional.of(builder.notEqual(field, value));
            case "<": return Optional.of(builder.lessThan(field, value));
            case "<=": return Optional.of(builder.lessOrEqual(field, value));
            case ">": return Optional.of(builder.greaterThan(field, value));
            case ">=": return Optional.of(builder.greaterOrEqual(field, value));
            case "STARTS_WITH": return Optional.of(builder.startsWith(field, value));
            case "ENDS_WITH": return Optional.of(builder.endsWith(field, value));
            case "CONTAINS": return Optional.of(builder.contains(field, value));
            default: return Optional.empty();
        }
    }

    private static String turned(String name) {
        switch (name) {
            case "<": return ">";
            case "<=": return ">=";
            case ">": return "<";
            case ">=": return "<=";
            case "=": case "<=>": case "<>": return name;
            default: return "";
        }
    }

    /**
     * Whether files may be asked. Of other types, files of other writers have values in other forms than the library
     * expects; it takes a dot in a name for a step into a column; and of ORC files it asks for another day than an early
     * one.
     */
    boolean isForFiles(Predicate condition) {
        for (String name : PredicateVisitor.collectFieldNames(condition)) {
            switch (type.getField(name).type().getTypeRoot()) {
                case BOOLEAN: case TINYINT: case SMALLINT: case INTEGER: case BIGINT: case DATE: case VARCHAR: break;
                default: return false;
            }
            if (name.indexOf('.') >= 0) {
                return false;
            }
        }
        return !namesEarlyDay(condition);
    }

    private static boolean namesEarlyDay(Predicate condition) {
        if (condition instanceof CompoundPredicate) {
            return ((CompoundPredicate) condition).children().stream().anyMatch(PushedConditions::namesEarlyDay);
        }
        LeafPredicate leaf = (LeafPredicate) condition;
        return leaf.type().is(DataTypeRoot.DATE)
                && leaf.literals().stream().anyMatch(day -> (Integer) day < FIRST_GREGORIAN_DAY);
    }

    private static boolean isNullSafe(Expression given) {
        boolean isIt = given instanceof org.apache.spark.sql.connector.expressions.filter.Predicate
                && ((org.apache.spark.sql.connector.expressions.filter.Predicate) given).name().equals("<=>");
        return isIt || Arrays.stream(given.children()).anyMatch(PushedConditions::isNullSafe);
    }

    private int field(Expression given) {
        if (!(given instanceof NamedReference)) {
            return -1;
        }
        String[] names = ((NamedReference) given).fieldNames();
        return names.length == 1 ? type.getFieldIndex(names[0]) : -1;
    }

    /** Null if Paimon has no such value, or other rules for it: bounds of floating numbers leave out NaN. */
    private static Object value(Expression given, DataType type) {
        if (!(given instanceof Literal)) {
            return null;
        }
        Object value = ((Literal<?>) given).value();
        if (value == null) {
            return null;
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN: case TINYINT: case SMALLINT: case INTEGER: case BIGINT: case DATE:
                return value;
            case VARCHAR:
                return BinaryString.fromBytes(((UTF8String) value).getBytes());
            case DECIMAL:
                return org.apache.paimon.data.Decimal.fromBigDecimal(((Decimal) value).toJavaBigDecimal(),
                        ((DecimalType) type).getPrecision(), ((DecimalType) type).getScale());
            case TIMESTAMP_WITHOUT_TIME_ZONE: case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                // Spark sees finer times cut off.
                return org.apache.paimon.types.DataTypeChecks.getPrecision(type) > 6 ? null : Timestamp.fromMicros((Long) value);
            default:
                return null;
        }
    }
}
