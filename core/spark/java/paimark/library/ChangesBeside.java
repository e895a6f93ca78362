package paimark.library;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.partition.PartitionPredicate;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.source.ScanMode;

/**
 * What others committed while single rows were changed, and whether the change may stand behind it.
 *
 * <p>The changed rows are those of one snapshot. Later rows are let be: with a key, if they are in partitions without a
 * changed row, or if none has a key of one. Without a key they are in files of their own, and the library refuses a
 * commit whose files somebody else replaced; so only marks of deleted rows are in the way, because a commit writes all
 * those of a file anew.
 */
final class ChangesBeside {
    private final FileStoreTable table;
    private final Snapshot head;
    private final FileKeys keys;
    private Set<BinaryRow> changed;
    /** The newest snapshot on which the change may stand. */
    private Snapshot looked;

    /** {@code head} is the snapshot with the rows that were changed. */
    ChangesBeside(FileStoreTable table, Snapshot head) {
        this.table = table;
        this.head = head;
        keys = new FileKeys(table);
        looked = head;
    }

    /**
     * Whether the change, with these files of its own, may be committed on {@code now}. {@code replaced} are partitions that
     * it writes again, or null.
     */
    boolean mayStand(Snapshot now, List<CommitMessage> written, PartitionPredicate replaced) throws IOException {
        if (now.id() < head.id()) {
            return false;
        }
        try {
            if (looked != head && !isWithin(now)) {
                // Somebody rolled the table back, and its ids are given again.
                looked = head;
            }
            for (long id = looked.id() + 1; id <= now.id(); id++) {
                Snapshot each = at(id, now);
                if (replaced == null ? !mayStandOn(each, written) : !filesIn(each, replaced).isEmpty()) {
                    return false;
                }
                looked = each;
            }
            return true;
        } catch (FileNotFoundException gone) {
            // It has expired, and nobody knows what it did.
            return false;
        }
    }

    private boolean isWithin(Snapshot now) throws FileNotFoundException {
        return now.id() >= looked.id()
                && at(looked.id(), now).deltaManifestList().equals(looked.deltaManifestList());
    }

    private Snapshot at(long id, Snapshot now) throws FileNotFoundException {
        return id == now.id() ? now : table.snapshotManager().tryGetSnapshot(id);
    }

    private boolean mayStandOn(Snapshot later, List<CommitMessage> written) throws IOException {
        if (table.primaryKeys().isEmpty()) {
            return Objects.equals(later.indexManifest(), head.indexManifest());
        }
        switch (later.commitKind()) {
            case COMPACT:
            case ANALYZE:
                return true;
            case APPEND:
                return hasOtherKeys(filesBeside(later, written), written);
            case OVERWRITE:
                return filesBeside(later, written).isEmpty();
            default:
                return false;
        }
    }

    private List<ManifestEntry> filesIn(Snapshot later, PartitionPredicate partitions) {
        return table.store().newScan().withSnapshot(later).withKind(ScanMode.DELTA).withPartitionFilter(partitions).plan()
                .files();
    }

    /** The files of a commit that may have a key of a changed row, or had one. */
    private List<ManifestEntry> filesBeside(Snapshot later, List<CommitMessage> written) {
        List<ManifestEntry> files =
                table.store().newScan().withSnapshot(later).withKind(ScanMode.DELTA).plan().files();
        if (table.bucketMode() == BucketMode.KEY_DYNAMIC) {
            // A key can move to another partition.
            return files;
        }
        Set<BinaryRow> partitions =
                written.stream().map(each -> ((CommitMessageImpl) each).partition()).collect(Collectors.toSet());
        return files.stream().filter(each -> partitions.contains(each.partition())).collect(Collectors.toList());
    }

    private boolean hasOtherKeys(List<ManifestEntry> later, List<CommitMessage> written) throws IOException {
        if (!later.isEmpty() && changed == null) {
            changed = new HashSet<>();
            for (CommitMessage each : written) {
                CommitMessageImpl message = (CommitMessageImpl) each;
                for (DataFileMeta file : message.newFilesIncrement().newFiles()) {
                    if (!keys.canTell(file)) {
                        changed = null;
                        return false;
                    }
                    keys.any(message.partition(), message.bucket(), message.totalBuckets(), file,
                            key -> {
                                changed.add(key.copy());
                                return false;
                            });
                }
            }
        }
        for (ManifestEntry each : later) {
            if (!keys.canTell(each.file())
                    || keys.any(each.partition(), each.bucket(), each.totalBuckets(), each.file(), changed::contains)) {
                return false;
            }
        }
        return true;
    }
}
