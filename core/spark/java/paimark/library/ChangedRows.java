package paimark.library;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.types.StructType;

/** The scan of a table in which a statement looks for the rows to change. */
final class ChangedRows implements Scan, Batch, SupportsReportStatistics, SupportsRuntimeV2Filtering {
    private static final Pattern CHAR = Pattern.compile("\\bCHAR\\(");

    private final LibraryTable table;
    private final ChangeColumns columns;
    private final org.apache.paimon.predicate.Predicate ofFiles;
    private final TouchedFiles touched;
    private List<Split> splits;

    private ChangedRows(LibraryTable table, ChangeColumns columns, org.apache.paimon.predicate.Predicate condition,
            org.apache.paimon.predicate.Predicate ofFiles, TouchedFiles touched) {
        this.table = table;
        this.columns = columns;
        this.ofFiles = ofFiles;
        this.touched = touched;
        splits = table.splits(condition);
        tell();
    }

    private void tell() {
        if (touched != null) {
            touched.scanned(splits.stream().map(split -> (DataSplit) split).collect(Collectors.toList()));
        }
    }

    @Override
    public StructType readSchema() {
        return columns.shown;
    }

    @Override
    public String description() {
        return "paimon library " + table.name() + " " + columns.read.getFieldNames();
    }

    @Override
    public Batch toBatch() {
        return this;
    }

    @Override
    public Statistics estimateStatistics() {
        return new SplitStatistics(splits, columns.shown);
    }

    /**
     * Of files that are written again, Spark looks first for those with rows to change. Where it pads CHAR columns it
     * does not find these again in that query.
     */
    @Override
    public NamedReference[] filterAttributes() {
        boolean pads = table.table.rowType().getFieldTypes().stream()
                .anyMatch(type -> CHAR.matcher(type.asSQLString()).find());
        boolean isWhole = touched != null && !touched.marks && !pads;
        return isWhole ? new NamedReference[] {Expressions.column(ChangeColumns.FILE)} : new NamedReference[0];
    }

    @Override
    public void filter(Predicate[] given) {
        for (Predicate each : given) {
            if (!each.name().equals("IN") && !each.name().equals("=")) {
                continue;
            }
            Set<String> names = new HashSet<>();
            for (int i = 1; i < each.children().length; i++) {
                names.add(String.valueOf(((Literal<?>) each.children()[i]).value()));
            }
            splits = ChangeColumns.isGrouped(table.table) ? RowGroups.only(splits, names)
                    : PackedSplits.ofFiles(splits).stream()
                    .filter(split -> names.contains(((DataSplit) split).dataFiles().get(0).fileName()))
                    .collect(Collectors.toList());
        }
        tell();
    }

    @Override
    public InputPartition[] planInputPartitions() {
        return PackedSplits.of(splits, table.table).toArray(new InputPartition[0]);
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new Factory(table.table, columns, ofFiles,
                ChangeColumns.isGrouped(table.table) ? new RowGroups(splits) : null);
    }

    /** {@code groups} is null where a row is in one file. */
    record Factory(FileStoreTable table, ChangeColumns columns, org.apache.paimon.predicate.Predicate condition,
            RowGroups groups) implements PartitionReaderFactory {
        @Override
        public PartitionReader<InternalRow> createReader(InputPartition partition) {
            List<Split> splits = ((PackedSplits) partition).splits();
            return new PlacedRows(new SplitRows(table, columns.read, condition, false, splits), columns, groups);
        }
    }

    /** Conditions leave out files; Spark applies them to the rows. */
    static final class Builder implements ScanBuilder, SupportsPushDownV2Filters, SupportsPushDownRequiredColumns {
        private final LibraryTable table;
        private final TouchedFiles touched;
        private final TakenConditions taken;
        private StructType shown;

        /** {@code touched} hears which files are read; may be null. */
        Builder(LibraryTable table, TouchedFiles touched) {
            this.table = table;
            this.touched = touched;
            taken = new TakenConditions(table.table.rowType());
            shown = SparkTypes.of(table.table.rowType());
        }

        @Override
        public Predicate[] pushPredicates(Predicate[] given) {
            for (Predicate each : given) {
                taken.takes(each);
            }
            return Arrays.copyOf(given, given.length);
        }

        @Override
        public Predicate[] pushedPredicates() {
            return taken.pushed();
        }

        @Override
        public void pruneColumns(StructType required) {
            RowType row = table.table.rowType();
            shown = SparkTypes.whole(required, row, name -> ChangeColumns.ownName(row, name));
        }

        @Override
        public Scan build() {
            // A file that is written again is read with all its rows.
            boolean isWhole = touched != null && !touched.marks;
            return new ChangedRows(table, new ChangeColumns(table.table, shown), taken.all(),
                    isWhole ? null : taken.ofFiles(), touched);
        }
    }
}
