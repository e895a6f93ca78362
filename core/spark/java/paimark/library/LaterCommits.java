package paimark.library;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.paimon.KeyValue;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
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
    private final Snapshot head;
    private final NamedPartitions partitions;
    private final FileKeys keys;
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
        keys = new FileKeys(table);
        this.changed = changed == null || isByPartitions(table) ? null : keys(changed);
    }

    private Set<BinaryRow> keys(Dataset<Row> rows) {
        Set<BinaryRow> found = new HashSet<>();
        RowsForPaimon.OfRow row = new RowsForPaimon.OfRow(keys.compared, RowWriter.places(keys.compared, List.of(rows.columns())));
        InternalRowSerializer serializer = new InternalRowSerializer(keys.compared);
        for (org.apache.spark.sql.catalyst.InternalRow each : rows.queryExecution().executedPlan().executeCollect()) {
            found.add(serializer.toBinaryRow(row.of(each)).copy());
        }
        return found;
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
                // Rows of the overwrite would count as newer than those of a level above its own. And files of a
                // compaction lack deletes: what they deleted would come back with the overwrite.
                && file.level() == 0
                && file.minSequenceNumber() > highest
                && keys.canTell(file)
                && !keys.any(later.partition(), later.bucket(), later.totalBuckets(), file, changed::contains);
    }
}
