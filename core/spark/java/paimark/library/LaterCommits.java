package paimark.library;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.paimon.KeyValue;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * What others committed while the rows of an overwrite were written, and whether it may stay beside them.
 *
 * <p>The rows were made from one snapshot, and replace the files of that snapshot, never later ones. What came since
 * stays if it lies in other partitions, or if its rows have other keys than those that the overwrite changes. For a
 * key that the overwrite only copies the later row wins, as it did before: all rows of the overwrite have the lowest
 * sequence number. So the table gets the rows that it would get if the overwrite began again.
 */
final class LaterCommits {
    /** A later file of more bytes is not read: a job that commits all the time writes small ones. */
    private static final long MOST_BYTES = 32L << 20;

    private final Snapshot head;
    private final NamedPartitions partitions;
    private final RowType compared;
    private final Set<BinaryRow> changed;
    private final Set<String> staying = new HashSet<>();
    private Set<String> replaced;

    /**
     * {@code head} is the JSON of the snapshot that the rows were made from. {@code changed} has the keys that change;
     * null: too many to compare.
     */
    LaterCommits(FileStoreTable table, String head, NamedPartitions partitions, Dataset<Row> changed) {
        this.head = Snapshot.fromJson(head);
        this.partitions = partitions;
        compared = table.rowType().project(table.primaryKeys().stream()
                .filter(name -> isComparable(table.rowType().getField(name).type()))
                .collect(Collectors.toList()));
        this.changed = changed == null || isByPartitions(table) ? null : keys(changed);
    }

    private Set<BinaryRow> keys(Dataset<Row> rows) {
        Set<BinaryRow> found = new HashSet<>();
        RowsForPaimon.OfRow row = new RowsForPaimon.OfRow(compared, RowWriter.places(compared, List.of(rows.columns())));
        InternalRowSerializer serializer = new InternalRowSerializer(compared);
        for (org.apache.spark.sql.catalyst.InternalRow each : rows.queryExecution().executedPlan().executeCollect()) {
            found.add(serializer.toBinaryRow(row.of(each)).copy());
        }
        return found;
    }

    /** Whether equal values have equal bytes here. Keys that differ in other columns only are taken for the same. */
    private static boolean isComparable(DataType type) {
        switch (type.getTypeRoot()) {
            case TINYINT:
            case SMALLINT:
            case INTEGER:
            case BIGINT:
            case VARCHAR:
            case DATE:
                return true;
            default:
                return false;
        }
    }

    /**
     * Whether rows of a replaced partition can't be told from each other by their keys.
     *
     * <p>Deletes are not copied, and with a sequence field a delete may be newer than a later row. Buckets that grow are
     * given to keys anew by the overwrite.
     */
    private static boolean isByPartitions(FileStoreTable table) {
        return table.bucketMode() != BucketMode.HASH_FIXED || !table.coreOptions().sequenceField().isEmpty();
    }

    Snapshot head() {
        return head;
    }

    /** Whether the overwrite, with these files of its own, may be committed on {@code now}. */
    boolean mayStay(FileStoreTable table, Snapshot now, List<CommitMessage> written) throws IOException {
        if (now.id() < head.id()) {
            return false;
        }
        if (replaced == null) {
            replaced = entries(table, head).stream().map(each -> each.file().fileName()).collect(Collectors.toSet());
        }
        List<ManifestEntry> live = entries(table, now);
        // A compaction or another overwrite may have taken files that the rows were made from.
        if (!live.stream().map(each -> each.file().fileName()).collect(Collectors.toSet()).containsAll(replaced)) {
            return false;
        }
        long highest = written.stream().flatMap(each -> ((CommitMessageImpl) each).newFilesIncrement().newFiles().stream())
                .mapToLong(DataFileMeta::maxSequenceNumber).max().orElse(KeyValue.UNKNOWN_SEQUENCE);
        for (ManifestEntry each : live) {
            DataFileMeta file = each.file();
            // A compaction may have moved a file up: then it is another one.
            String name = file.fileName() + " " + file.level();
            if (replaced.contains(file.fileName()) || staying.contains(name)) {
                continue;
            }
            if (!mayStay(table, each, highest)) {
                return false;
            }
            staying.add(name);
        }
        return true;
    }

    private List<ManifestEntry> entries(FileStoreTable table, Snapshot of) {
        return table.store().newScan().withSnapshot(of).withPartitionFilter(partitions).plan().files();
    }

    private boolean mayStay(FileStoreTable table, ManifestEntry later, long highest) throws IOException {
        DataFileMeta file = later.file();
        return changed != null
                && compared.getFieldCount() > 0
                // Rows of the overwrite would count as newer than those of a level above its own. And files of a
                // compaction lack deletes: what they deleted would come back with the overwrite.
                && file.level() == 0
                && file.minSequenceNumber() > highest
                // An older definition may have other names for the columns.
                && file.schemaId() == table.schema().id()
                && file.fileSize() <= MOST_BYTES
                && hasOtherKeys(table, later);
    }

    private boolean hasOtherKeys(FileStoreTable table, ManifestEntry entry) throws IOException {
        DataSplit split = DataSplit.builder()
                .withSnapshot(head.id())
                .withPartition(entry.partition())
                .withBucket(entry.bucket())
                .withTotalBuckets(entry.totalBuckets())
                .withBucketPath(table.store().pathFactory().bucketPath(entry.partition(), entry.bucket()).toString())
                .withDataFiles(new ArrayList<>(List.of(entry.file())))
                .rawConvertible(false)
                .build();
        InternalRowSerializer serializer = new InternalRowSerializer(compared);
        RecordReader<InternalRow> reader =
                table.newRead().forceKeepDelete().withReadType(compared).createReader(split);
        try (RecordReaderIterator<InternalRow> rows = new RecordReaderIterator<>(reader)) {
            while (rows.hasNext()) {
                if (changed.contains(serializer.toBinaryRow(rows.next()))) {
                    return false;
                }
            }
            return true;
        } catch (IOException | RuntimeException error) {
            throw error;
        } catch (Exception error) {
            throw new IOException(error);
        }
    }
}
