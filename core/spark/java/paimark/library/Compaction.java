package paimark.library;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.manifest.BucketEntry;
import org.apache.paimon.partition.PartitionPredicate;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.AppendCompactTaskSerializer;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.EndOfScanException;
import org.apache.paimon.table.source.snapshot.SnapshotReader;
import org.apache.paimon.utils.Pair;
import org.apache.paimon.utils.SerializationUtils;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.util.CollectionAccumulator;

/**
 * One compaction of a branch of a table: Spark's tasks write the files, which are then committed by themselves.
 *
 * <p>It stands on one snapshot. If the files that it replaces are gone by its commit, the library refuses that.
 */
public final class Compaction extends Uncommitted {
    private static final int MOST_TASKS = 1000;

    private final SparkSession session;
    private final boolean isFull;
    /** Null: all of them. */
    private Set<BinaryRow> partitions;
    /** Null: all of them. */
    private Set<Pair<BinaryRow, Integer>> buckets;

    /** {@code branch} may be null. {@code schema} and {@code known}, the newest snapshot, are records' JSON. */
    public Compaction(SparkSession session, String address, String branch, String schema, String known, String user,
            boolean isFull) {
        super(new WrittenTable(session.sessionState().newHadoopConf(), address, branch, schema, Replacing.NOTHING,
                false), known, user);
        this.session = session;
        this.isFull = isFull;
    }

    /** Leave out all partitions but these: as rows in Base64, apart by blanks, as manifests have them. */
    public void only(String rows) throws IOException {
        partitions = new HashSet<>();
        for (String each : rows.split(" ")) {
            partitions.add(SerializationUtils.deserializeBinaryRow(Base64.getDecoder().decode(each)));
        }
    }

    /** Leave out all buckets but those to which that write has brought files. */
    public void only(Uncommitted write) {
        partitions = new HashSet<>();
        buckets = new HashSet<>();
        for (CommitMessage each : write.messages) {
            CommitMessageImpl message = (CommitMessageImpl) each;
            partitions.add(message.partition());
            buckets.add(Pair.of(message.partition(), message.bucket()));
        }
    }

    /** Let the tasks write. If one fails, the files of all are deleted. */
    public void run() throws Exception {
        FileStoreTable real = table.copy(Map.of(
                CoreOptions.WRITE_ONLY.key(), "false",
                // Rows of level 0 are seen by nobody in some tables: all of them are merged, at once.
                CoreOptions.LOOKUP_COMPACT.key(), CoreOptions.LookupCompactMode.RADICAL.toString()));
        if (table.bucketMode() == BucketMode.BUCKET_UNAWARE) {
            work(joined(real), new CompactionTasks.Joining(real, user, told()));
            return;
        }
        Set<BinaryRow> replayed = Set.of();
        if (table.bucketMode() == BucketMode.POSTPONE_MODE) {
            replayed = replayed(real);
            real = real.copy(Map.of(CoreOptions.BUCKET.key(), "1"));
        }
        work(buckets(real, replayed), new CompactionTasks.Merging(real, user, isFull, told()));
    }

    /** Move rows out of postponed buckets, and return their partitions. */
    private Set<BinaryRow> replayed(FileStoreTable real) throws Exception {
        SnapshotReader reader = real.newSnapshotReader().withBucket(BucketMode.POSTPONE_BUCKET);
        if (partitions != null) {
            reader.withPartitionFilter(chosen());
        }
        List<DataSplit> splits = reader.read().dataSplits();
        PostponedBuckets numbers = PostponedBuckets.forCompaction(table, session.sparkContext().defaultParallelism());
        work(ReplayingTasks.pieces(splits), new ReplayingTasks(real, user, isFull, numbers, told()));
        return splits.stream().map(DataSplit::partition).collect(Collectors.toSet());
    }

    private CollectionAccumulator<CommitMessage> told() {
        CollectionAccumulator<CommitMessage> made = new CollectionAccumulator<>();
        session.sparkContext().register(made);
        return made;
    }

    /** Each piece of work is bytes: a bucket, or files to join. */
    private void work(List<byte[]> pieces, CompactionTasks tasks) {
        if (pieces.isEmpty()) {
            return;
        }
        JavaSparkContext spark = JavaSparkContext.fromSparkContext(session.sparkContext());
        try {
            spark.parallelize(pieces, Math.min(pieces.size(), MOST_TASKS)).foreachPartition(tasks);
        } catch (RuntimeException error) {
            // Those of the task that failed, it deleted itself.
            CommitFiles.deleteData(table, tasks.told.value());
            delete();
            throw error;
        }
        List<CommitMessage> all = new ArrayList<>(messages);
        all.addAll(tasks.told.value());
        messages = all;
    }

    private PartitionPredicate chosen() {
        return partitions == null ? null
                : PartitionPredicate.fromMultiple(table.schema().logicalPartitionType(), partitions);
    }

    private List<byte[]> buckets(FileStoreTable real, Set<BinaryRow> without) throws IOException {
        SnapshotReader reader = real.newSnapshotReader();
        if (partitions != null) {
            reader.withPartitionFilter(chosen());
        }
        List<byte[]> found = new ArrayList<>();
        for (BucketEntry each : reader.bucketEntries()) {
            boolean isChosen = buckets == null || buckets.contains(Pair.of(each.partition(), each.bucket()));
            if (isChosen && each.bucket() >= 0 && each.fileCount() > 0 && !without.contains(each.partition())) {
                found.add(CompactionTasks.Merging.piece(each.partition(), each.bucket()));
            }
        }
        return found;
    }

    private List<byte[]> joined(FileStoreTable real) throws IOException {
        AppendCompactCoordinator coordinator = new AppendCompactCoordinator(real, false, chosen());
        AppendCompactTaskSerializer serializer = new AppendCompactTaskSerializer();
        Set<AppendCompactTask> found = new LinkedHashSet<>();
        try {
            do {
                found.addAll(coordinator.run());
            } while (coordinator.batchRemainFiles());
        } catch (EndOfScanException end) {
            // It has no files that are worth it, or no more.
        }
        List<byte[]> pieces = new ArrayList<>();
        for (AppendCompactTask each : found) {
            pieces.add(serializer.serialize(each));
        }
        return pieces;
    }

    @Override
    Committing.Change change(String before) {
        return new Committing.Change(user, messages, Replacing.NOTHING, null, before);
    }

    /** The library sees itself whether the files that this replaces are still there. */
    @Override
    public boolean isOutrun(String now) {
        return false;
    }

    @Override
    public boolean hasOtherBuckets(String now) {
        return false;
    }
}
