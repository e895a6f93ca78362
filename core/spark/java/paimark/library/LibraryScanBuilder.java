package paimark.library;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructType;

/** Takes from Spark what a scan can do itself: conditions, columns, a limit, counts and bounds. */
final class LibraryScanBuilder
        implements ScanBuilder,
                SupportsPushDownV2Filters,
                SupportsPushDownRequiredColumns,
                SupportsPushDownLimit,
                SupportsPushDownAggregates {
    private final LibraryTable table;
    private final TakenConditions taken;
    private StructType shown;
    private boolean isExact = true;
    private boolean areFewKeys;
    private int limit;
    private LocalScan answer;

    LibraryScanBuilder(LibraryTable table, int limit) {
        this.table = table;
        this.limit = limit;
        taken = new TakenConditions(table.table.rowType());
        shown = SparkTypes.of(table.table.rowType());
    }

    /** Returns what Spark has to apply as well: all but conditions on partitions, unless few keys are read. */
    @Override
    public Predicate[] pushPredicates(Predicate[] given) {
        List<Predicate> again = new ArrayList<>();
        for (Predicate each : given) {
            if (!taken.takes(each) || !isOfPartitions(each)) {
                again.add(each);
                isExact = false;
            }
        }
        boolean areOfFiles = taken.countOfFiles() == given.length;
        if (!again.isEmpty() && areOfFiles && FewKeys.areFew(table, taken.list(), given)) {
            areFewKeys = true;
            again.clear();
        }
        return again.toArray(new Predicate[0]);
    }

    private boolean isOfPartitions(Predicate condition) {
        return Arrays.stream(condition.references())
                .allMatch(name -> name.fieldNames().length == 1
                        && table.table.partitionKeys().contains(name.fieldNames()[0]));
    }

    @Override
    public Predicate[] pushedPredicates() {
        return taken.pushed();
    }

    @Override
    public void pruneColumns(StructType required) {
        shown = SparkTypes.whole(required, table.table.rowType(), UnaryOperator.identity());
    }

    @Override
    public boolean pushLimit(int most) {
        if (isExact) {
            limit = limit < 0 ? most : Math.min(most, limit);
        }
        return isExact;
    }

    @Override
    public boolean isPartiallyPushed() {
        return true;
    }

    @Override
    public boolean supportCompletePushDown(Aggregation aggregation) {
        return isExact && MetadataAnswer.of(table, taken.all(), aggregation) != null;
    }

    @Override
    public boolean pushAggregation(Aggregation aggregation) {
        answer = isExact ? MetadataAnswer.of(table, taken.all(), aggregation) : null;
        return answer != null;
    }

    @Override
    public Scan build() {
        if (answer != null) {
            return answer;
        }
        if (areFewKeys) {
            return new FewKeys(table, shown, taken.all());
        }
        List<DataField> fields = new ArrayList<>();
        for (String name : shown.fieldNames()) {
            fields.add(table.table.rowType().getField(name));
        }
        RowType read = new RowType(fields);
        return new LibraryScan(table, shown, read, taken.all(), taken.ofFiles(), isExact ? limit : -1);
    }
}
