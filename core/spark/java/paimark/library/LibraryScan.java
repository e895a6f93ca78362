package paimark.library;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** A scan of a table: the splits that the condition leaves, packed into partitions of about equal size. */
final class LibraryScan implements Scan, Batch, SupportsReportStatistics {
    private final LibraryTable table;
    private final StructType shown;
    private final RowType read;
    private final Predicate condition;
    private final Predicate ofFiles;
    private final int limit;
    private final List<Split> splits;

    /**
     * {@code shown} are the columns for Spark, {@code read} the same ones of the library; {@code ofFiles} is the part
     * of the condition that files are asked.
     */
    LibraryScan(
            LibraryTable table, StructType shown, RowType read, Predicate condition, Predicate ofFiles, int limit) {
        this.table = table;
        this.shown = shown;
        this.read = read;
        this.condition = condition;
        this.ofFiles = ofFiles;
        this.limit = limit;
        splits = table.splits(condition);
    }

    @Override
    public StructType readSchema() {
        return shown;
    }

    @Override
    public String description() {
        String where = condition == null ? "" : " where " + condition;
        return "paimon library " + table.name() + " " + read.getFieldNames() + where;
    }

    @Override
    public Batch toBatch() {
        return this;
    }

    @Override
    public Statistics estimateStatistics() {
        return new SplitStatistics(splits, shown);
    }

    @Override
    public InputPartition[] planInputPartitions() {
        return PackedSplits.of(limit < 0 ? splits : enough(), table.table).toArray(new InputPartition[0]);
    }

    /** The first splits that surely have enough rows. */
    private List<Split> enough() {
        List<Split> chosen = new ArrayList<>();
        long rows = 0;
        for (Split split : splits) {
            if (rows >= limit) {
                break;
            }
            chosen.add(split);
            rows += split.mergedRowCount().orElse(0);
        }
        return chosen;
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new Factory(table.table, read, ofFiles, isColumnar());
    }

    /** Whether all batches come as columns that nothing changes on the way. */
    private boolean isColumnar() {
        return !table.table.coreOptions().dataEvolutionEnabled()
                && read.getFieldTypes().stream().allMatch(BatchColumn::has)
                && splits.stream().allMatch(this::isColumnar);
    }

    private boolean isColumnar(Split split) {
        if (!(split instanceof DataSplit) || !((DataSplit) split).rawConvertible()) {
            return false;
        }
        boolean hasVectors = split.deletionFiles().stream().anyMatch(each -> each.stream().anyMatch(Objects::nonNull));
        return !hasVectors
                && ((DataSplit) split).dataFiles().stream().allMatch(file -> {
                    boolean isBatched = file.fileFormat().equals("parquet") || file.fileFormat().equals("orc");
                    return isBatched && file.schemaId() == table.table.schema().id();
                });
    }

    record Factory(FileStoreTable table, RowType read, Predicate condition, boolean isColumnar)
            implements PartitionReaderFactory {
        @Override
        public boolean supportColumnarReads(InputPartition partition) {
            return isColumnar;
        }

        @Override
        public PartitionReader<InternalRow> createReader(InputPartition partition) {
            return new PartitionRows(splits(partition), read);
        }

        @Override
        public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
            return new PartitionBatches(splits(partition), read);
        }

        private SplitRows splits(InputPartition partition) {
            return new SplitRows(table, read, condition, false, ((PackedSplits) partition).splits());
        }
    }
}
