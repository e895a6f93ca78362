package paimark.library;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.Snapshot;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.index.IndexFileHandler;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.source.DataSplit;

/** The files of a table without keys that a statement read to change their rows. */
final class TouchedFiles {
    /** Rows are marked in deletion vectors; otherwise all rows of the files are written again. */
    final boolean marks;
    private List<DataSplit> splits;

    TouchedFiles(boolean marks) {
        this.marks = marks;
    }

    void scanned(List<DataSplit> splits) {
        this.splits = splits;
    }

    /** How many rows the files have. */
    long rows() {
        return splits == null ? 0 : splits.stream().mapToLong(split -> split.mergedRowCount().orElse(0)).sum();
    }

    /** The deletion of the files, or their vectors with those {@code marked}, by file. */
    List<CommitMessage> messages(FileStoreTable table, Snapshot state, Map<String, byte[]> marked) {
        if (splits == null && !(marks && marked.isEmpty())) {
            // Spark may leave a scan out whose rows nobody needs: then nobody knows which files were meant.
            throw new IllegalStateException("No scan told which files it read");
        }
        return marks ? vectors(table, state, marked) : deletions();
    }

    private List<CommitMessage> deletions() {
        List<CommitMessage> messages = new ArrayList<>();
        for (DataSplit split : splits) {
            messages.add(new CommitMessageImpl(split.partition(), split.bucket(), split.totalBuckets(),
                    new DataIncrement(List.of(), split.dataFiles(), List.of()), CompactIncrement.emptyIncrement()));
        }
        return messages;
    }

    private List<CommitMessage> vectors(FileStoreTable table, Snapshot state, Map<String, byte[]> marked) {
        Map<String, DataSplit> byFile = new HashMap<>();
        if (splits != null) {
            for (DataSplit split : splits) {
                for (DataFileMeta file : split.dataFiles()) {
                    byFile.put(file.fileName(), split);
                }
            }
        }
        IndexFileHandler indexes = table.store().newIndexFileHandler();
        Map<List<Object>, BaseAppendDeleteFileMaintainer> buckets = new LinkedHashMap<>();
        marked.forEach((file, vector) -> {
            DataSplit split = byFile.get(file);
            buckets.computeIfAbsent(List.of(split.partition(), split.bucket()), key ->
                    table.bucketMode() == BucketMode.BUCKET_UNAWARE
                            ? BaseAppendDeleteFileMaintainer.forUnawareAppend(indexes, state, split.partition())
                            : BaseAppendDeleteFileMaintainer.forBucketedAppend(
                                    indexes, state, split.partition(), split.bucket()))
                    .notifyNewDeletionVector(file, DeletionVector.deserializeFromBytes(vector));
        });
        List<CommitMessage> messages = new ArrayList<>();
        for (BaseAppendDeleteFileMaintainer each : buckets.values()) {
            List<IndexFileMeta> added = new ArrayList<>(), removed = new ArrayList<>();
            for (IndexManifestEntry entry : each.persist()) {
                (entry.kind() == FileKind.ADD ? added : removed).add(entry.indexFile());
            }
            messages.add(new CommitMessageImpl(each.getPartition(), each.getBucket(), null,
                    new DataIncrement(List.of(), List.of(), List.of(), added, removed),
                    CompactIncrement.emptyIncrement()));
        }
        return messages;
    }

    /** The vectors of one file by two tasks, as one. */
    static byte[] both(byte[] one, byte[] other) {
        DeletionVector vector = DeletionVector.deserializeFromBytes(one);
        vector.merge(DeletionVector.deserializeFromBytes(other));
        return DeletionVector.serializeToBytes(vector);
    }
}
