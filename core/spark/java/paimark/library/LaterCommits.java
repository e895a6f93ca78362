package paimark.library;

import java.util.Set;
import java.util.stream.Collectors;
import org.apache.paimon.Snapshot;
import org.apache.paimon.table.FileStoreTable;

/**
 * What others committed while the rows of an overwrite were written, and whether it may stay beside them.
 *
 * <p>The rows were made from one snapshot, and replace the files of that snapshot, never later ones. So what came since
 * stays if it lies in other partitions.
 */
final class LaterCommits {
    private final Snapshot head;
    private final NamedPartitions partitions;
    private Set<String> replaced;

    /** {@code head} is the JSON of the snapshot that the rows were made from. */
    LaterCommits(String head, NamedPartitions partitions) {
        this.head = Snapshot.fromJson(head);
        this.partitions = partitions;
    }

    Snapshot head() {
        return head;
    }

    /** Whether the overwrite may be committed on {@code now}. */
    boolean mayStay(FileStoreTable table, Snapshot now) {
        if (now.id() < head.id()) {
            return false;
        }
        if (replaced == null) {
            replaced = files(table, head);
        }
        return files(table, now).equals(replaced);
    }

    /** A compaction may have moved a file up: then it is another one. */
    private Set<String> files(FileStoreTable table, Snapshot of) {
        return table.store().newScan().withSnapshot(of).withPartitionFilter(partitions).plan().files().stream()
                .map(each -> each.file().fileName() + " " + each.file().level()).collect(Collectors.toSet());
    }
}
