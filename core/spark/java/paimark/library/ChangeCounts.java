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
    /** Rows that are written again as they were, since others of their file are not. */
    long kept;
    /** Records of files that are taken away, where nobody counts the rows that they make. */
    long gone;

    /** Files are deleted as a whole; {@code areRows}: each of their records is a row. */
    static ChangeCounts ofFiles(List<CommitMessage> messages, boolean areRows) {
        ChangeCounts counts = new ChangeCounts();
        long records = 0;
        for (CommitMessage each : messages) {
            for (DataFileMeta file : ((CommitMessageImpl) each).newFilesIncrement().deletedFiles()) {
                records += file.rowCount();
            }
        }
        if (areRows) {
            counts.deleted = records;
        } else {
            counts.gone = records;
        }
        return counts;
    }

    boolean areNone() {
        return deleted + updated + inserted + gone == 0;
    }

    void add(ChangeCounts more) {
        deleted += more.deleted;
        updated += more.updated;
        inserted += more.inserted;
        kept += more.kept;
        gone += more.gone;
    }
}
