package paimark.library;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.crosspartition.GlobalIndexAssigner;
import org.apache.paimon.crosspartition.IndexBootstrap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.BucketAssigner;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.index.SimpleHashBucketAssigner;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.RowPartitionKeyExtractor;

/**
 * The buckets of one task's rows, for tables whose writers don't find them themselves.
 *
 * <p>Buckets that grow are assigned by one task a partition, or by a single one if keys move across partitions.
 */
abstract class RowBuckets implements Closeable {
    abstract void put(InternalRow row) throws Exception;

    /** All rows were given. */
    void end() throws Exception {}

    List<CommitMessage> told(List<CommitMessage> messages) {
        return messages;
    }

    @Override
    public void close() throws IOException {}

    /** {@code postponed}: as {@link PostponedBuckets}; null: the table does not fix postponed buckets. */
    static RowBuckets of(FileStoreTable table, Replacing replacing, PostponedBuckets postponed, IOManager disk,
            BiConsumer<InternalRow, Integer> write) throws Exception {
        switch (table.bucketMode()) {
            case HASH_DYNAMIC:
                return new Growing(table, replacing != Replacing.NOTHING, write);
            case KEY_DYNAMIC:
                return new AcrossPartitions(table, replacing == Replacing.ALL, disk, write);
            default:
                return postponed == null ? null : new Postponed(postponed, write);
        }
    }

    private static final class Growing extends RowBuckets {
        private final BucketAssigner assigner;
        private final RowPartitionKeyExtractor keys;
        private final BiConsumer<InternalRow, Integer> write;

        Growing(FileStoreTable table, boolean overwrites, BiConsumer<InternalRow, Integer> write) {
            this.write = write;
            keys = new RowPartitionKeyExtractor(table.schema());
            CoreOptions options = table.coreOptions();
            long rows = options.dynamicBucketTargetRowNum();
            int most = options.dynamicBucketMaxBuckets();
            assigner = overwrites
                    ? new SimpleHashBucketAssigner(1, 0, rows, most)
                    : new HashBucketAssigner(table.snapshotManager(), "", table.store().newIndexFileHandler(),
                            1, 1, 0, rows, most);
        }

        @Override
        void put(InternalRow row) {
            write.accept(row, assigner.assign(keys.partition(row).copy(), keys.trimmedPrimaryKey(row).hashCode()));
        }
    }

    /** A key may be in any partition: all keys of the table are read first, then rows find out where theirs is. */
    private static final class AcrossPartitions extends RowBuckets {
        private final GlobalIndexAssigner assigner;

        AcrossPartitions(FileStoreTable table, boolean replacesAll, IOManager disk,
                BiConsumer<InternalRow, Integer> write) throws Exception {
            assigner = new GlobalIndexAssigner(table);
            assigner.open(0, disk, 1, 0, write);
            if (replacesAll || table.latestSnapshot().isEmpty()) {
                return;
            }
            try (RecordReader<InternalRow> known = new IndexBootstrap(table).bootstrap(1, 0)) {
                known.forEachRemaining(key -> {
                    try {
                        assigner.bootstrapKey(key);
                    } catch (IOException error) {
                        throw new IllegalStateException(error);
                    }
                });
            }
        }

        @Override
        void put(InternalRow row) throws Exception {
            assigner.processInput(row);
        }

        @Override
        void end() throws Exception {
            assigner.endBoostrap(true);
        }

        @Override
        public void close() throws IOException {
            assigner.close();
        }
    }

    /** Real buckets, as many as the partition has already. */
    private static final class Postponed extends RowBuckets {
        private final PostponedBuckets buckets;
        private final BiConsumer<InternalRow, Integer> write;

        Postponed(PostponedBuckets buckets, BiConsumer<InternalRow, Integer> write) {
            this.buckets = buckets;
            this.write = write;
        }

        @Override
        void put(InternalRow row) {
            write.accept(row, buckets.bucket(row));
        }

        @Override
        List<CommitMessage> told(List<CommitMessage> messages) {
            List<CommitMessage> all = new ArrayList<>();
            for (CommitMessage each : messages) {
                CommitMessageImpl one = (CommitMessageImpl) each;
                all.add(new CommitMessageImpl(one.partition(), one.bucket(), buckets.number(one.partition()),
                        one.newFilesIncrement(), one.compactIncrement()));
            }
            return all;
        }
    }
}
