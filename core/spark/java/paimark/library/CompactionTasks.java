package paimark.library;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.SpecialFields;
import org.apache.paimon.table.sink.AppendCompactTaskSerializer;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.utils.SerializationUtils;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.function.VoidFunction;
import org.apache.spark.util.CollectionAccumulator;

/** What a task of Spark does in a compaction. It tells its files by an accumulator, also if a later task fails. */
abstract class CompactionTasks implements VoidFunction<Iterator<byte[]>> {
    private static final long serialVersionUID = 1L;

    final FileStoreTable table;
    final String user;
    final CollectionAccumulator<CommitMessage> told;

    CompactionTasks(FileStoreTable table, String user, CollectionAccumulator<CommitMessage> told) {
        this.table = table;
        this.user = user;
        this.told = told;
    }

    /** Do one piece of work. If it fails, its files are deleted. */
    abstract List<CommitMessage> done(byte[] piece, IOManager disk) throws Exception;

    @Override
    public final void call(Iterator<byte[]> pieces) throws Exception {
        List<CommitMessage> made = new ArrayList<>();
        OldMoments moments = new OldMoments(table);
        IOManager disk = IOManager.create(SparkEnv.get().blockManager().diskBlockManager().localDirsString());
        try {
            while (pieces.hasNext()) {
                List<CommitMessage> of = done(pieces.next(), disk);
                of.stream().filter(each -> !((CommitMessageImpl) each).isEmpty()).forEach(made::add);
                for (CommitMessage each : of) {
                    moments.requireKept((CommitMessageImpl) each);
                }
            }
        } catch (Throwable error) {
            // A killed task is interrupted, and no file can be deleted then.
            boolean wasInterrupted = Thread.interrupted();
            CommitFiles.deleteData(table, made);
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
            throw error;
        } finally {
            disk.close();
        }
        made.forEach(told::add);
    }

    /** Merges the files of a bucket. */
    static final class Merging extends CompactionTasks {
        private static final long serialVersionUID = 1L;

        private final boolean isFull;

        Merging(FileStoreTable table, String user, boolean isFull, CollectionAccumulator<CommitMessage> told) {
            super(table, user, told);
            this.isFull = isFull;
        }

        static byte[] piece(BinaryRow partition, int bucket) throws IOException {
            byte[] row = SerializationUtils.serializeBinaryRow(partition);
            return ByteBuffer.allocate(Integer.BYTES + row.length).putInt(bucket).put(row).array();
        }

        @Override
        List<CommitMessage> done(byte[] piece, IOManager disk) throws Exception {
            ByteBuffer given = ByteBuffer.wrap(piece);
            int bucket = given.getInt();
            byte[] row = new byte[given.remaining()];
            given.get(row);
            try (TableWriteImpl<?> write = table.newWrite(user).withIOManager(disk)) {
                // A partition may have been given its number of buckets before the table's option was changed.
                write.fileStoreWrite().withIgnoreNumBucketCheck(true);
                write.compact(SerializationUtils.deserializeBinaryRow(row), bucket, isFull);
                return write.prepareCommit();
            }
        }
    }

    /** Joins small files of a table without buckets. */
    static final class Joining extends CompactionTasks {
        private static final long serialVersionUID = 1L;

        Joining(FileStoreTable table, String user, CollectionAccumulator<CommitMessage> told) {
            super(table, user, told);
        }

        @Override
        List<CommitMessage> done(byte[] piece, IOManager disk) throws Exception {
            AppendCompactTaskSerializer serializer = new AppendCompactTaskSerializer();
            AppendCompactTask task = serializer.deserialize(serializer.getVersion(), piece);
            BaseAppendFileStoreWrite write = (BaseAppendFileStoreWrite) table.store().newWrite(user);
            try {
                if (table.coreOptions().rowTrackingEnabled()) {
                    write.withWriteType(SpecialFields.rowTypeWithRowTracking(table.rowType()));
                }
                return List.of(task.doCompact(table, write));
            } finally {
                write.close();
            }
        }
    }
}
