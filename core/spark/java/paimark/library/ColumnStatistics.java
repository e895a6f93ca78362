package paimark.library;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.stats.ColStats;
import org.apache.paimon.stats.Statistics;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DecimalType;
import org.apache.spark.sql.Row;

/** The statistics of a snapshot and some of its columns, from one row of Spark's. */
final class ColumnStatistics {
    /** Of each column: how many values differ, the least and the greatest, nulls, the average and the greatest length. */
    private static final int CELLS = 6;

    private ColumnStatistics() {}

    /** {@code found} has the number of rows, then six cells for each column; {@code size} is that of all files. */
    static Statistics of(FileStoreTable table, Snapshot at, Row found, List<String> columns, long size) {
        Map<String, ColStats<?>> described = new HashMap<>();
        for (int place = 0; place < columns.size(); place++) {
            String name = columns.get(place);
            DataField field = table.schema().nameToFieldMap().get(name);
            described.put(name, column(field, found, 1 + place * CELLS));
        }
        long rows = found.getLong(0);
        long records = Math.max(at.totalRecordCount(), 1);
        // Not the snapshot's schema, which may be an earlier one without some of the columns.
        return new Statistics(at.id(), table.schema().id(), rows, Math.round((double) size * rows / records), described);
    }

    private static ColStats<?> column(DataField field, Row found, int from) {
        return ColStats.newColStats(field.id(), found.getLong(from), value(field, found.get(from + 1)),
                value(field, found.get(from + 2)), found.getLong(from + 3), length(found.get(from + 4)),
                length(found.get(from + 5)));
    }

    private static Long length(Object value) {
        return value == null ? null : ((Number) value).longValue();
    }

    /** A value of Spark's as Paimon keeps it. */
    @SuppressWarnings("unchecked")
    private static Comparable<Object> value(DataField field, Object value) {
        Object kept = value;
        if (value instanceof BigDecimal) {
            DecimalType type = (DecimalType) field.type();
            kept = Decimal.fromBigDecimal((BigDecimal) value, type.getPrecision(), type.getScale());
        } else if (value instanceof java.sql.Date) {
            kept = (int) ((java.sql.Date) value).toLocalDate().toEpochDay();
        } else if (value instanceof LocalDate) {
            kept = (int) ((LocalDate) value).toEpochDay();
        } else if (value instanceof java.sql.Timestamp) {
            kept = Timestamp.fromInstant(((java.sql.Timestamp) value).toInstant());
        } else if (value instanceof Instant) {
            kept = Timestamp.fromInstant((Instant) value);
        } else if (value instanceof LocalDateTime) {
            kept = Timestamp.fromLocalDateTime((LocalDateTime) value);
        }
        return (Comparable<Object>) kept;
    }
}
