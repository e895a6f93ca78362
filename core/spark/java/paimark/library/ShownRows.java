package paimark.library;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.SinkRecord;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.utils.Pair;

/**
 * Rows that replace others where readers leave out new files: one commit brings them, and shows them.
 *
 * <p>Each task has whole buckets, which are empty otherwise. So it compacts them itself, and tells only what is left.
 */
final class ShownRows {
    private final FileStoreTable table;
    private final TableWriteImpl<?> write;
    private final Set<Pair<BinaryRow, Integer>> buckets = new LinkedHashSet<>();

    ShownRows(FileStoreTable table, TableWriteImpl<?> write) {
        this.table = table;
        this.write = write;
    }

    static boolean areNeeded(FileStoreTable table, Replacing replacing) {
        boolean leavesOut = !table.primaryKeys().isEmpty() && table.coreOptions().batchScanSkipLevel0();
        return leavesOut && replacing != Replacing.NOTHING;
    }

    static FileStoreTable compacting(FileStoreTable table) {
        return table.copy(Map.of(CoreOptions.WRITE_ONLY.key(), "false"));
    }

    void afterRow(SinkRecord given) {
        if (given != null) {
            buckets.add(Pair.of(given.partition().copy(), given.bucket()));
        }
    }

    List<CommitMessage> prepared() throws Exception {
        for (Pair<BinaryRow, Integer> each : buckets) {
            write.compact(each.getLeft(), each.getRight(), true);
        }
        return write.prepareCommit().stream().map(each -> whatIsLeft((CommitMessageImpl) each))
                .collect(Collectors.toList());
    }

    private CommitMessage whatIsLeft(CommitMessageImpl of) {
        DataIncrement made = of.newFilesIncrement();
        CompactIncrement compacted = of.compactIncrement();
        Set<String> gone = names(compacted.compactBefore()), stay = names(compacted.compactAfter());
        List<DataFileMeta> left = new ArrayList<>(compacted.compactAfter()), merged = new ArrayList<>();
        for (DataFileMeta file : made.newFiles()) {
            if (!gone.contains(file.fileName())) {
                left.add(file);
            } else if (!stay.contains(file.fileName())) {
                merged.add(file);
            }
        }
        // Whoever reads changes is told nothing of rows that replace others.
        List<DataFileMeta> told = new ArrayList<>(made.changelogFiles());
        told.addAll(compacted.changelogFiles());
        CommitFiles.deleteData(table, List.of(new CommitMessageImpl(of.partition(), of.bucket(), of.totalBuckets(),
                new DataIncrement(merged, List.of(), told), CompactIncrement.emptyIncrement())));
        List<IndexFileMeta> indexes = new ArrayList<>(made.newIndexFiles());
        indexes.addAll(compacted.newIndexFiles());
        return new CommitMessageImpl(of.partition(), of.bucket(), of.totalBuckets(),
                new DataIncrement(left, List.of(), List.of(), indexes, made.deletedIndexFiles()),
                CompactIncrement.emptyIncrement());
    }

    private static Set<String> names(List<DataFileMeta> of) {
        return of.stream().map(DataFileMeta::fileName).collect(Collectors.toSet());
    }
}
