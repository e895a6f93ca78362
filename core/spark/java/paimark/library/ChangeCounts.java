package paimark.library;

import java.io.Serializable;
import java.util.List;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;

/** How many rows a statement changed. */
final class ChangeCounts implements Serializable {
    private static final long serialVersionUID = 1L;

    long deleted;
    long updated;
    long inserted;
    /** Rows of files that were written again, changed or not. */
    long again;

    /** The rows of files that are deleted as a whole. */
    static ChangeCounts ofFiles(List<CommitMessage> messages) {
        ChangeCounts counts = new ChangeCounts();
        for (CommitMessage each : messages) {
            for (DataFileMeta file : ((CommitMessageImpl) each).newFilesIncrement().deletedFiles()) {
                counts.deleted += file.rowCount();
            }
        }
        return counts;
    }

    void add(ChangeCounts more) {
        deleted += more.deleted;
        updated += more.updated;
        inserted += more.inserted;
        again += more.again;
    }
}
