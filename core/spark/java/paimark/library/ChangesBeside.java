package paimark.library;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.source.ScanMode;

/**
 * What others committed while single rows were changed, and whether the change may stand behind it.
 *
 * <p>The changed rows are those of one snapshot. Later rows are let be: with a key, if none has a key of a changed row.
 * Without a key they are in files of their own, and the library refuses a commit whose files somebody else replaced; so
 * only marks of deleted rows are in the way, because a commit writes all those of a file anew.
 */
final class ChangesBeside {
    private final FileStoreTable table;
    private final Snapshot head;
    private Set<BinaryRow> changed;
    private long looked;

    /** {@code head} is the snapshot with the rows that were changed. */
    ChangesBeside(FileStoreTable table, Snapshot head) {
        this.table = table;
        this.head = head;
        looked = head.id();
    }

    /** Whether the change, with these files of its own, may be committed on {@code now}. */
    boolean mayStand(Snapshot now, List<CommitMessage> written) throws IOException {
        if (now.id() < head.id()) {
            return false;
        }
        for (long id = looked + 1; id <= now.id(); id++) {
            try {
                Snapshot each = id == now.id() ? now : table.snapshotManager().tryGetSnapshot(id);
                if (!mayStandOn(each, written)) {
                    return false;
                }
            } catch (FileNotFoundException gone) {
                // It has expired, and nobody knows what it did.
                return false;
            }
            looked = id;
        }
        return true;
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
                return hasOtherKeys(later, written);
            default:
                return false;
        }
    }

    private boolean hasOtherKeys(Snapshot later, List<CommitMessage> written) throws IOException {
        FileKeys keys = new FileKeys(table);
        if (changed == null) {
            changed = new HashSet<>();
            for (CommitMessage each : written) {
                CommitMessageImpl message = (CommitMessageImpl) each;
                for (DataFileMeta file : message.newFilesIncrement().newFiles()) {
                    if (!keys.canTell(file)) {
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
        for (ManifestEntry each : table.store().newScan().withSnapshot(later).withKind(ScanMode.DELTA).plan().files()) {
            if (!keys.canTell(each.file())
                    || keys.any(each.partition(), each.bucket(), each.totalBuckets(), each.file(), changed::contains)) {
                return false;
            }
        }
        return true;
    }
}
