package paimark.library;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.Snapshot;
import org.apache.paimon.catalog.SnapshotCommit;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.operation.FileStoreCommit;
import org.apache.paimon.partition.PartitionStatistics;
import org.apache.paimon.stats.Statistics;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One try of the library to commit, on a given snapshot. It never publishes: Python does, and tells the result.
 *
 * <p>The library works in a thread of its own. It prepares manifests and a snapshot, and waits: {@link #isReady}.
 * After {@link #landed} it does what follows a commit; after {@link #lost} it gives up.
 */
public final class Committing {
    private static final Logger LOG = LoggerFactory.getLogger(Committing.class);

    private final FileStoreTable table;
    private final String before;
    private final Change change;
    private final CountDownLatch ready = new CountDownLatch(1);
    private final CountDownLatch answered = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    private final GivenState state;
    private volatile Snapshot made;
    private volatile boolean hasLanded;
    private volatile Throwable failure;

    /**
     * What is committed. The files that named {@code partitions} have in the snapshot {@code replaced} go. With
     * {@code statistics} it is those alone.
     */
    static final class Change {
        final String user;
        final List<CommitMessage> messages;
        final Replacing replacing;
        final NamedPartitions partitions;
        final String replaced;
        Statistics statistics;
        /** Of a batch of a stream; the watermark may be null. */
        long number = BatchWriteBuilder.COMMIT_IDENTIFIER;
        Long watermark;
        /** The snapshot whose rows got other values under their ids; null: none did. */
        Long rowsOf;

        Change(String user, List<CommitMessage> messages, Replacing replacing, NamedPartitions partitions,
                String replaced) {
            this.user = user;
            this.messages = messages;
            this.replacing = replacing;
            this.partitions = partitions;
            this.replaced = replaced;
        }
    }

    /** {@code before} is the JSON of the snapshot to stand on; null: the branch has none. */
    Committing(WrittenTable table, String before, boolean isFast, Change change) {
        this.before = before;
        this.change = change;
        state = table.state(before).publishing(new HandedOver());
        FileStoreTable committed = table.forCommit(state);
        this.table = isFast ? WrittenTable.withoutMerging(committed) : committed;
        Thread thread = new Thread(this::run, "paimark-commit");
        thread.setDaemon(true);
        thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
        thread.start();
    }

    private void run() {
        try (FileStoreCommit commit = table.store().newCommit(change.user, table)) {
            commit(commit);
        } catch (Throwable error) {
            failure = error;
        } finally {
            ready.countDown();
            ended.countDown();
        }
    }

    // Not the table's own commit: that would also expire snapshots and partitions, and make tags.
    private void commit(FileStoreCommit commit) {
        long identifier = change.number;
        Long watermark = change.watermark;
        if (change.statistics != null) {
            commit.commitStatistics(change.statistics, identifier);
        } else if (change.replacing == Replacing.NOTHING) {
            // New files alone are in nobody's way, unless their partitions have another number of buckets: that of
            // postponed ones others may have settled on, and a fixed one stays until the rows are written again.
            boolean checks = table.bucketMode() == BucketMode.POSTPONE_MODE || hasRescaled();
            commit.rowIdCheckConflict(change.rowsOf);
            commit.commit(new ManifestCommittable(identifier, watermark, change.messages), checks);
        } else if (change.partitions == null) {
            commit.overwritePartition(Map.of(), new ManifestCommittable(identifier, watermark, change.messages), Map.of());
        } else {
            commit.ignoreEmptyCommit(false);
            commit.commit(new ManifestCommittable(identifier, watermark, replacements()), true);
        }
    }

    private boolean hasRescaled() {
        return table.bucketMode() == BucketMode.HASH_FIXED && table.schema().id() > 0
                && table.schemaManager().listAll().stream()
                        .map(each -> each.options().get(CoreOptions.BUCKET.key())).distinct().count() > 1;
    }

    /** The new files, and the deletion of those that they replace; changelogs don't tell of an overwrite. */
    private List<CommitMessage> replacements() {
        List<CommitMessage> all = new ArrayList<>();
        if (change.replaced != null) {
            all.addAll(CommitFiles.deletions(table, Snapshot.fromJson(change.replaced), change.partitions));
        }
        for (CommitMessage each : change.messages) {
            if (!change.partitions.test(((CommitMessageImpl) each).partition())) {
                throw new IllegalArgumentException("Rows came for partitions that are not replaced");
            }
            all.add(CommitFiles.withoutChangelog((CommitMessageImpl) each));
        }
        return all;
    }

    /** Whether the library has come to its end, or to a snapshot; waits for it so long. */
    public boolean isReady(long millis) throws InterruptedException {
        return ready.await(millis, TimeUnit.MILLISECONDS);
    }

    /** The JSON of the snapshot to publish; null if there is none: nothing to commit, or a failure. */
    public String snapshot() {
        return made == null ? null : made.toJson();
    }

    /** Why there is no snapshot; null if there was nothing to commit. */
    public Throwable failure() {
        return failure;
    }

    /** The snapshot was published. Returns what failed of the work that follows; null: all is done. */
    public Throwable landed() throws InterruptedException {
        hasLanded = true;
        state.landed(made);
        answered.countDown();
        ended.await();
        return failure;
    }

    /** The snapshot was not published, and never will be: delete its manifests. */
    public void lost() throws InterruptedException {
        answered.countDown();
        ended.await();
        if (made == null) {
            return;
        }
        try {
            CommitFiles.deleteManifests(table, before == null ? null : Snapshot.fromJson(before), made);
        } catch (RuntimeException error) {
            // They are in nobody's way, and the error that led here is the one to tell.
            LOG.warn("Manifests of snapshot {} that was not published stay", made.id(), error);
        }
    }

    /** The snapshot may have been published, nobody knows: leave all as it is. */
    public void leave() throws InterruptedException {
        giveUp();
        ended.await();
    }

    /** No answer will come. */
    void giveUp() {
        answered.countDown();
    }

    private final class HandedOver implements SnapshotCommit {
        @Override
        public boolean commit(Snapshot snapshot, String branch, List<PartitionStatistics> statistics) throws Exception {
            if (made != null) {
                throw new IllegalStateException("one commit made two snapshots");
            }
            made = snapshot;
            ready.countDown();
            answered.await();
            return hasLanded;
        }

        @Override
        public void close() {}
    }
}
