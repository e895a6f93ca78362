package paimark.library;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.SpecialFields;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.distributions.Distributions;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;
import org.apache.spark.sql.connector.write.RowLevelOperation.Command;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** The write of a DELETE, UPDATE or MERGE: it gives what tasks wrote to a {@link TableWrite}, and commits nothing. */
final class ChangeWrite implements DeltaWriteBuilder, DeltaWrite, DeltaBatchWrite, RequiresDistributionAndOrdering {
    private final ChangedTable target;
    private final FileStoreTable table;
    private final LogicalWriteInfo info;
    private final Command command;
    private final TouchedFiles touched;

    /** {@code touched} is null for a table with keys, and where rows are only added. */
    ChangeWrite(ChangedTable target, LogicalWriteInfo info, Command command, TouchedFiles touched) {
        this.target = target;
        table = target.rows.table;
        this.info = info;
        this.command = command;
        this.touched = touched;
    }

    @Override
    public DeltaWrite build() {
        return this;
    }

    @Override
    public DeltaBatchWrite toBatch() {
        return this;
    }

    @Override
    public String description() {
        return "paimon library " + target.name();
    }

    /** Rows of a key go to one task: several write to a bucket, and none of them compacts it. */
    @Override
    public Distribution requiredDistribution() {
        if (isGrouped()) {
            return Distributions.clustered(new Expression[] {FieldReference.column(ChangeColumns.FILE)});
        }
        List<String> by = !table.primaryKeys().isEmpty() ? table.primaryKeys() : table.schema().bucketKeys();
        boolean writesNone = touched != null && touched.marks && command == Command.DELETE;
        if (table.bucketMode() == BucketMode.BUCKET_UNAWARE || by.isEmpty() || writesNone) {
            return Distributions.unspecified();
        }
        if (table.bucketMode() == BucketMode.HASH_DYNAMIC && !table.partitionKeys().isEmpty()) {
            // One task gives the keys of a partition their buckets.
            by = table.partitionKeys();
        }
        return Distributions.clustered(by.stream().map(FieldReference::column).toArray(Expression[]::new));
    }

    @Override
    public int requiredNumPartitions() {
        BucketMode mode = table.bucketMode();
        boolean isOne = mode == BucketMode.KEY_DYNAMIC
                || (mode == BucketMode.HASH_DYNAMIC && table.partitionKeys().isEmpty());
        return isOne ? 1 : 0;
    }

    /** Whether {@link GroupFiles} writes the rows. */
    private boolean isGrouped() {
        return touched != null && ChangeColumns.isGrouped(table);
    }

    /** So that the writer sees whether two rows of a MERGE have one key. */
    @Override
    public SortOrder[] requiredOrdering() {
        if (isGrouped()) {
            return new SortOrder[] {
                Expressions.sort(FieldReference.column(SpecialFields.ROW_ID.name()), SortDirection.ASCENDING)
            };
        }
        return command != Command.MERGE ? new SortOrder[0] : table.primaryKeys().stream()
                .map(name -> Expressions.sort(FieldReference.column(name), SortDirection.ASCENDING))
                .toArray(SortOrder[]::new);
    }

    @Override
    public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo physical) {
        PostponedBuckets postponed = !WrittenTable.fixesBuckets(table) ? null
                : new PostponedBuckets(table, SparkContext.getOrCreate().defaultParallelism());
        RowWriter.Factory rows = new RowWriter.Factory(table, target.write.user(),
                Arrays.asList(info.schema().fieldNames()), Replacing.NOTHING, postponed, true);
        return new ChangeWriter.Factory(table, rows, info.schema(), info.rowIdSchema().orElse(null),
                info.metadataSchema().orElse(null), touched != null && touched.marks, command == Command.MERGE);
    }

    @Override
    public void commit(WriterCommitMessage[] told) {
        List<CommitMessage> messages = new ArrayList<>();
        ChangeCounts counts = new ChangeCounts();
        Map<String, byte[]> marked = new HashMap<>();
        for (WriterCommitMessage each : told) {
            ChangeWriter.Told task = (ChangeWriter.Told) each;
            messages.addAll(task.messages);
            counts.add(task.counts);
            task.marked.forEach((file, vector) -> marked.merge(file, vector, TouchedFiles::both));
        }
        if (touched != null) {
            messages.addAll(touched.messages(table, target.state, marked));
        }
        if (touched != null && !touched.marks) {
            counts.deleted = touched.rows() - counts.kept - counts.updated;
            if (isGrouped() && counts.deleted != 0) {
                throw GroupFiles.rowsGo();
            }
            if (counts.areNone()) {
                // Files would be written again with the rows that they have.
                abort(told);
                messages.clear();
            }
        }
        target.changed(messages, counts);
    }

    /** A task failed: those that did not have written files for nobody. Spark calls it after a failed commit, too. */
    @Override
    public void abort(WriterCommitMessage[] told) {
        if (target.isWritten()) {
            return;
        }
        Arrays.stream(told).filter(each -> each != null)
                .forEach(each -> CommitFiles.deleteData(table, ((ChangeWriter.Told) each).messages));
    }
}
