package paimark.library;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.postpone.BucketFiles;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.utils.InstantiationUtil;
import org.apache.spark.util.CollectionAccumulator;

/** Moves the rows of a partition whose buckets were postponed to real buckets, in the order in which they came. */
final class ReplayingTasks extends CompactionTasks {
    private static final long serialVersionUID = 1L;

    private final boolean isFull;
    private final PostponedBuckets buckets;

    ReplayingTasks(FileStoreTable table, String user, boolean isFull, PostponedBuckets buckets,
            CollectionAccumulator<CommitMessage> told) {
        super(table.copy(Map.of(CoreOptions.BUCKET.key(), "1")), user, told);
        this.isFull = isFull;
        this.buckets = buckets;
    }

    /** One piece of work for each partition among these. */
    static List<byte[]> pieces(List<DataSplit> splits) throws Exception {
        Map<BinaryRow, DataSplit> files = new HashMap<>();
        for (DataSplit each : splits) {
            files.merge(each.partition(), each, ReplayingTasks::together);
        }
        List<byte[]> found = new ArrayList<>();
        for (DataSplit each : files.values()) {
            found.add(InstantiationUtil.serializeObject(together(each, null)));
        }
        return found;
    }

    private static DataSplit together(DataSplit one, DataSplit other) {
        List<DataFileMeta> files = new ArrayList<>(one.dataFiles());
        if (other != null) {
            files.addAll(other.dataFiles());
        }
        files.sort(Comparator.comparing(DataFileMeta::creationTime));
        return DataSplit.builder()
                .withPartition(one.partition())
                .withBucket(one.bucket())
                .withBucketPath(one.bucketPath())
                .withTotalBuckets(one.totalBuckets())
                .withDataFiles(files)
                .isStreaming(false)
                .build();
    }

    @Override
    List<CommitMessage> done(byte[] piece, IOManager disk) throws Exception {
        DataSplit split = InstantiationUtil.deserializeObject(piece, Thread.currentThread().getContextClassLoader());
        BinaryRow partition = split.partition();
        Map<Integer, BucketFiles> changed = new TreeMap<>();
        try (TableWriteImpl<?> write = table.newWrite(user).withIOManager(disk)) {
            write.fileStoreWrite().withIgnoreNumBucketCheck(true);
            RecordReader<InternalRow> reader = table.newRead().withIOManager(disk).createReader(split);
            try (RecordReaderIterator<InternalRow> rows = new RecordReaderIterator<>(reader)) {
                while (rows.hasNext()) {
                    InternalRow row = rows.next();
                    write.write(row, buckets.bucket(row));
                }
            }
            if (isFull) {
                for (int bucket = 0; bucket < buckets.number(partition); bucket++) {
                    write.compact(partition, bucket, true);
                }
            }
            for (CommitMessage each : write.prepareCommit()) {
                CommitMessageImpl message = (CommitMessageImpl) each;
                changed.computeIfAbsent(message.bucket(), bucket -> files(partition, bucket)).update(message);
            }
        }
        List<CommitMessage> made = new ArrayList<>();
        changed.forEach((bucket, files) -> made.add(numbered(files.makeMessage(partition, bucket))));
        made.add(new CommitMessageImpl(partition, BucketMode.POSTPONE_BUCKET, split.totalBuckets(),
                DataIncrement.emptyIncrement(), new CompactIncrement(split.dataFiles(), List.of(), List.of())));
        return made;
    }

    private BucketFiles files(BinaryRow partition, int bucket) {
        return new BucketFiles(table.store().pathFactory().createDataFilePathFactory(partition, bucket), table.fileIO());
    }

    private CommitMessage numbered(CommitMessageImpl of) {
        return new CommitMessageImpl(of.partition(), of.bucket(), buckets.number(of.partition()), of.newFilesIncrement(),
                of.compactIncrement());
    }
}
