package paimark.library;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation.Command;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import paimark.catalog.MergeTarget;
import paimark.source.PythonHalf;

/** A table of a {@link LakeCatalog} to which a statement writes: what it writes is one commit. */
final class LakeTarget
        implements SupportsRead, SupportsWrite, SupportsRowLevelOperations, SupportsMetadataColumns, SupportsDeleteV2,
                MergeTarget {
    /** What is asked of Python: which statement changes rows. */
    private static final String CHANGE = "change";
    /** That an overwrite replaces some partitions. */
    private static final String PARTITIONS = "partitions";
    /** The snapshot that an overwrite replaces, as its file has it; empty: there is none. */
    private static final String STATE = "state";

    private final LakeWrites writes;
    private final LakeName name;
    private final ChangedTable shape;
    private ChangedTable begun;

    /** {@code shape} is the table as the statement finds it. */
    LakeTarget(LakeWrites writes, LakeName name, ChangedTable shape) {
        this.writes = writes;
        this.name = name;
        this.shape = shape;
    }

    @Override
    public String name() {
        return shape.name();
    }

    @Override
    public Column[] columns() {
        return shape.columns();
    }

    @Override
    public Transform[] partitioning() {
        return shape.rows.partitioning();
    }

    @Override
    public Set<TableCapability> capabilities() {
        return begun != null ? begun.capabilities()
                : Set.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.V1_BATCH_WRITE,
                        TableCapability.TRUNCATE, TableCapability.OVERWRITE_BY_FILTER);
    }

    @Override
    public MetadataColumn[] metadataColumns() {
        return shape.metadataColumns();
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return (begun != null ? begun : shape).newScanBuilder(options);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return begun != null ? begun.newWriteBuilder(info) : new Rows(LakeWrites.given(info.options()));
    }

    @Override
    public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
        begun = changing(info.command(), info.options());
        return begun.newRowLevelOperationBuilder(info);
    }

    /** A MERGE that only inserts: two rows of its source may not have one key. */
    @Override
    public void isMerged() {
        if (begun == null) {
            begun = changing(Command.MERGE, CaseInsensitiveStringMap.empty());
        }
    }

    @Override
    public boolean canDeleteWhere(Predicate[] conditions) {
        return shape.canDeleteWhere(conditions);
    }

    /** A DELETE of whole partitions. Without a condition nothing was begun. */
    @Override
    public void deleteWhere(Predicate[] conditions) {
        ChangedTable target = begun != null ? begun : changing(Command.DELETE, CaseInsensitiveStringMap.empty());
        target.deleteWhere(conditions);
    }

    private ChangedTable changing(Command command, CaseInsensitiveStringMap given) {
        Map<String, String> asked = Map.of(CHANGE, command.name().toLowerCase(Locale.ROOT));
        PythonHalf half = writes.begin(name, new StructType(), false, LakeWrites.given(given), asked);
        requireSame((TableWrite) half.begun());
        ChangedTable found = (ChangedTable) ((TableWrite) half.begun()).changing(name());
        found.commitBy(() -> writes.commit(half, name()));
        return found;
    }

    /** The statement was understood by the columns that the table had then. */
    private void requireSame(TableWrite begins) {
        if (begins.table.schema().id() != shape.rows.table.schema().id()) {
            throw new IllegalArgumentException(
                    "The definition of " + name() + " changed meanwhile. Nothing was committed: run it again.");
        }
    }

    @Override
    public String toString() {
        return name();
    }

    /** The rows of an INSERT, or of a program. */
    private final class Rows implements SupportsOverwriteV2, V1Write {
        private final Map<String, String> options;
        private final Map<String, String> asked = new HashMap<>();
        private boolean replaces;
        /** What an overwrite replaces, if not the whole table. */
        private org.apache.spark.sql.classic.Dataset<Row> partitions;

        Rows(Map<String, String> options) {
            this.options = options;
        }

        @Override
        public WriteBuilder truncate() {
            replaces = true;
            return this;
        }

        @Override
        public boolean canOverwrite(Predicate[] conditions) {
            return StaticPartition.isOne(conditions, shape.rows.table.partitionKeys());
        }

        @Override
        public WriteBuilder overwrite(Predicate[] conditions) {
            partitions = StaticPartition.row(conditions, shape.rows.schema());
            asked.put(PARTITIONS, "true");
            return truncate();
        }

        @Override
        public Write build() {
            return this;
        }

        @Override
        public InsertableRelation toInsertableRelation() {
            return (rows, overwrite) -> write(rows);
        }

        private void write(Dataset<Row> rows) {
            if (replaces) {
                // It may have read what it replaces, and whoever wrote it has seen no later rows.
                asked.put(STATE, shape.state == null ? "" : shape.state.toJson());
            }
            PythonHalf half = writes.begin(name, rows.schema(), replaces, options, asked);
            requireSame((TableWrite) half.begun());
            if (partitions != null) {
                ((TableWrite) half.begun()).replace(partitions);
            }
            SourceRows.write(half.begun(), rows);
            writes.commit(half, name());
        }
    }
}
