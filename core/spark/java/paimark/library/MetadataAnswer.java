package paimark.library;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.stats.SimpleStatsEvolutions;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.DataField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Counts and bounds that the metadata have. */
final class MetadataAnswer implements LocalScan {
    private final StructType shown;
    private final InternalRow row;

    private MetadataAnswer(List<StructField> fields, List<Object> values) {
        shown = new StructType(fields.toArray(new StructField[0]));
        row = new GenericInternalRow(values.toArray());
    }

    /** Null if rows must be read. The condition must be on partitions only; null: none. */
    static MetadataAnswer of(LibraryTable table, Predicate condition, Aggregation aggregation) {
        if (aggregation.groupByExpressions().length > 0) {
            return null;
        }
        List<Split> splits = table.splits(condition);
        List<StructField> fields = new ArrayList<>();
        List<Object> values = new ArrayList<>();
        for (AggregateFunc each : aggregation.aggregateExpressions()) {
            if (each instanceof CountStar) {
                long rows = rows(splits);
                if (rows < 0) {
                    return null;
                }
                add(fields, values, DataTypes.LongType, rows);
            } else if ((each instanceof Min || each instanceof Max) && each.children()[0] instanceof NamedReference) {
                String[] name = ((NamedReference) each.children()[0]).fieldNames();
                Object[] bound = new Object[1];
                if (name.length > 1 || !bound(table.table, splits, name[0], each instanceof Min, bound)) {
                    return null;
                }
                add(fields, values, SparkTypes.of(table.table.rowType().getField(name[0]).type()), bound[0]);
            } else {
                return null;
            }
        }
        return new MetadataAnswer(fields, values);
    }

    private static void add(List<StructField> fields, List<Object> values, DataType type, Object value) {
        fields.add(new StructField("v" + fields.size(), type, true, Metadata.empty()));
        values.add(value);
    }

    /** Negative if it is not known. */
    private static long rows(List<Split> splits) {
        long rows = 0;
        for (Split split : splits) {
            OptionalLong known = split.mergedRowCount();
            if (known.isEmpty()) {
                return -1;
            }
            rows += known.getAsLong();
        }
        return rows;
    }

    /** Whether the bound is known; then it is put into {@code found}, null for no value. */
    private static boolean bound(
            FileStoreTable table, List<Split> splits, String name, boolean isLeast, Object[] found) {
        DataField field = table.rowType().getField(name);
        switch (field.type().getTypeRoot()) {
            case TINYINT:
            case SMALLINT:
            case INTEGER:
            case BIGINT:
            case DATE: break;
            default: return false;
        }
        int index = table.rowType().getFieldIndex(name);
        SimpleStatsEvolutions evolutions = new SimpleStatsEvolutions(
                id -> table.schemaManager().schema(id).fields(), table.schema().id());
        for (Split each : splits) {
            // Of files with vectors some rows do not count, and files of evolving tables have parts of rows.
            if (each.getClass() != DataSplit.class || !((DataSplit) each).rawConvertible()
                    || each.deletionFiles().isPresent() || table.coreOptions().dataEvolutionEnabled()) {
                return false;
            }
            DataSplit split = (DataSplit) each;
            Object value = isLeast
                    ? split.minValue(index, field, evolutions) : split.maxValue(index, field, evolutions);
            Long nulls = split.nullCount(index, evolutions);
            if (value == null) {
                if (nulls == null || nulls != split.rowCount()) {
                    return false;
                }
            } else if (found[0] == null || isBeyond(value, found[0], isLeast)) {
                found[0] = value;
            }
        }
        return true;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static boolean isBeyond(Object value, Object found, boolean isLeast) {
        int order = ((Comparable) value).compareTo(found);
        return isLeast ? order < 0 : order > 0;
    }

    @Override
    public InternalRow[] rows() {
        return new InternalRow[] {row};
    }

    @Override
    public StructType readSchema() {
        return shown;
    }
}
