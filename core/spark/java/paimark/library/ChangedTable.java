package paimark.library;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.paimon.CoreOptions.ChangelogProducer;
import org.apache.paimon.Snapshot;
import org.apache.paimon.partition.PartitionPredicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import paimark.catalog.KeepsValues;

/**
 * The target of one DELETE, UPDATE or MERGE. Spark reads it and writes to it; what is to be committed goes to a
 * {@link TableWrite}, and nothing is committed here but by a step that others gave.
 */
final class ChangedTable
        implements SupportsRead, SupportsWrite, SupportsRowLevelOperations, SupportsMetadataColumns, SupportsDeleteV2,
                KeepsValues {
    private static final String ALWAYS = "ALWAYS_TRUE";
    private static final String NEVER = "ALWAYS_FALSE";

    private final String name;
    final LibraryTable rows;
    final Snapshot state;
    final TableWrite write;
    /** The texts of the columns' defaults, as Spark's SQL. */
    private final Map<String, String> defaults;
    private Runnable commit = () -> {};
    private boolean isWritten;

    /** {@code state} is what is changed; null: the table has no rows yet. */
    ChangedTable(String name, FileStoreTable table, Snapshot state, TableWrite write, Map<String, String> defaults) {
        this.name = name;
        this.state = state;
        this.write = write;
        this.defaults = defaults;
        rows = new LibraryTable(name, table, state, false, null);
    }

    @Override
    public String name() {
        return name;
    }

    /** Only keys are never null for Spark: files may break other promises. The writer asks for those. */
    @Override
    public Column[] columns() {
        FileStoreTable table = rows.table;
        org.apache.spark.sql.types.StructType types = SparkTypes.written(table.rowType());
        List<Column> found = new ArrayList<>();
        for (DataField field : table.rowType().getFields()) {
            boolean isKey = table.primaryKeys().contains(field.name());
            org.apache.spark.sql.types.DataType type = types.apply(field.name()).dataType();
            String value = defaults.get(field.name());
            found.add(value == null ? Column.create(field.name(), type, !isKey)
                    : Column.create(field.name(), type, !isKey, null, DefaultValues.of(value, type), null));
        }
        return found.toArray(new Column[0]);
    }

    @Override
    public Set<TableCapability> capabilities() {
        return Set.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE);
    }

    @Override
    public MetadataColumn[] metadataColumns() {
        return ChangeColumns.metadata(rows.table);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new ChangedRows.Builder(rows, null);
    }

    /** The step that makes the commit, once all is written. */
    void commitBy(Runnable step) {
        commit = step;
    }

    /** All that the statement changes. */
    void changed(List<CommitMessage> messages, ChangeCounts counts) {
        isWritten = true;
        write.changed(messages, counts);
        commit.run();
    }

    /** Whether a commit was begun: from then on the files are that step's affair. */
    boolean isWritten() {
        return isWritten;
    }

    /** A MERGE that only inserts comes here. */
    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new ChangeWrite(this, info, RowLevelOperation.Command.MERGE, null);
    }

    @Override
    public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
        return () -> RowChanges.of(this, info.command());
    }

    /** Whole partitions go without a job, unless others are to read in a changelog which rows went. */
    @Override
    public boolean canDeleteWhere(Predicate[] conditions) {
        FileStoreTable table = rows.table;
        boolean tells = !table.primaryKeys().isEmpty()
                && table.coreOptions().changelogProducer() != ChangelogProducer.NONE;
        return !tells && partitions(conditions) != null;
    }

    @Override
    public void deleteWhere(Predicate[] conditions) {
        List<CommitMessage> messages = state == null ? List.of()
                : CommitFiles.deletions(rows.table, state, partitions(conditions));
        boolean areRows = rows.table.primaryKeys().isEmpty() && !rows.table.coreOptions().deletionVectorsEnabled();
        changed(messages, ChangeCounts.ofFiles(messages, areRows));
    }

    @Override
    public boolean truncateTable() {
        deleteWhere(new Predicate[0]);
        return true;
    }

    /** The partitions that conditions name; null: they say something else. */
    private PartitionPredicate partitions(Predicate[] conditions) {
        RowType type = rows.table.schema().logicalPartitionType();
        PushedConditions converter = new PushedConditions(type);
        List<org.apache.paimon.predicate.Predicate> found = new ArrayList<>();
        for (Predicate each : conditions) {
            if (each.name().equals(NEVER)) {
                return PartitionPredicate.ALWAYS_FALSE;
            }
            if (each.name().equals(ALWAYS)) {
                continue;
            }
            Optional<org.apache.paimon.predicate.Predicate> condition = converter.of(each);
            if (condition.isEmpty()) {
                return null;
            }
            found.add(condition.get());
        }
        return found.isEmpty() ? PartitionPredicate.ALWAYS_TRUE
                : PartitionPredicate.fromPredicate(type, PredicateBuilder.and(found));
    }
}
