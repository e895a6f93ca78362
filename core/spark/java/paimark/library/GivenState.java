package paimark.library;

import java.util.Optional;
import org.apache.paimon.Snapshot;
import org.apache.paimon.catalog.SnapshotCommit;
import org.apache.paimon.table.CatalogEnvironment;
import org.apache.paimon.table.Instant;
import org.apache.paimon.utils.BranchManager;
import org.apache.paimon.utils.SnapshotLoader;
import org.apache.paimon.utils.SnapshotManager;

/**
 * Tells the library which snapshot is a branch's latest one, and takes from it the snapshot that a commit made.
 *
 * <p>So a commit stands on the snapshot that Python has looked at, and no other. Other branches, to which a
 * callback may commit, are as they are in the store.
 */
final class GivenState extends CatalogEnvironment {
    private static final long serialVersionUID = 1L;

    private final String branch;
    private final Latest latest;
    private transient SnapshotCommit publishing;

    /** {@code latest} is the snapshot's JSON; null: there is none. */
    GivenState(String branch, String latest) {
        super(null, null, null, null, null, null, false, false);
        this.branch = BranchManager.normalizeBranch(branch);
        this.latest = new Latest(latest);
    }

    /** The branch's snapshots are published that way. */
    GivenState publishing(SnapshotCommit way) {
        publishing = way;
        return this;
    }

    /** From now on that snapshot is the latest one. */
    void landed(Snapshot snapshot) {
        latest.json = snapshot.toJson();
    }

    @Override
    public SnapshotLoader snapshotLoader() {
        return latest;
    }

    @Override
    public SnapshotCommit snapshotCommit(SnapshotManager snapshots) {
        if (publishing != null && snapshots.branch().equals(branch)) {
            return publishing;
        }
        return super.snapshotCommit(snapshots);
    }

    private static final class Latest implements SnapshotLoader {
        private static final long serialVersionUID = 1L;

        private volatile String json;

        Latest(String json) {
            this.json = json;
        }

        @Override
        public Optional<Snapshot> load() {
            return Optional.ofNullable(json).map(Snapshot::fromJson);
        }

        @Override
        public void rollback(Instant instant) {
            throw new UnsupportedOperationException();
        }

        /** The library looks into the store itself if a loader can't answer. */
        @Override
        public SnapshotLoader copyWithBranch(String other) {
            return new Unknown();
        }
    }

    private static final class Unknown implements SnapshotLoader {
        private static final long serialVersionUID = 1L;

        @Override
        public Optional<Snapshot> load() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void rollback(Instant instant) {
            throw new UnsupportedOperationException();
        }

        @Override
        public SnapshotLoader copyWithBranch(String other) {
            return this;
        }
    }
}
