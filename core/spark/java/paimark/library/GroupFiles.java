package paimark.library;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;

/**
 * Writes the rows of {@link RowGroups} again, each group to one file: rows keep their ids.
 *
 * <p>All rows of a group come one after the other, in the order of their ids.
 */
final class GroupFiles {
    private final RowWriter.Factory rows;
    private final List<CommitMessage> messages = new ArrayList<>();
    private RowWriter writer;
    private long first;
    private long next;

    GroupFiles(RowWriter.Factory of) {
        rows = new RowWriter.Factory(of.table().copy(Map.of(CoreOptions.TARGET_FILE_SIZE.key(), Long.MAX_VALUE + " b")),
                of.user(), of.columns(), of.replacing(), of.postponed(), of.isChange());
    }

    void put(String group, long id, RowsForPaimon.OfRow row) throws IOException {
        if (writer == null || first != Long.parseLong(group)) {
            finish();
            first = next = Long.parseLong(group);
            writer = rows.createWriter(null);
        }
        if (id != next++) {
            throw rowsGo();
        }
        writer.put(row);
    }

    /** What stops a MERGE that would delete rows. */
    static RuntimeException rowsGo() {
        return RefusedRow.of("Rows of a table with data evolution are not deleted. Leave out the clause that deletes.");
    }

    private void finish() throws IOException {
        if (writer == null) {
            return;
        }
        List<CommitMessage> made = ((RowWriter.Told) writer.commit()).messages;
        messages.addAll(made);
        if (made.size() != 1) {
            throw RefusedRow.of("Rows of one file would go to several partitions, and a table with data evolution"
                    + " keeps them together. Leave the partition columns as they are.");
        }
        writer.close();
        writer = null;
        CommitMessageImpl message = (CommitMessageImpl) messages.remove(messages.size() - 1);
        List<DataFileMeta> files = new ArrayList<>();
        message.newFilesIncrement().newFiles().forEach(file -> files.add(file.assignFirstRowId(first)));
        messages.add(new CommitMessageImpl(message.partition(), message.bucket(), message.totalBuckets(),
                new DataIncrement(files, List.of(), List.of()), CompactIncrement.emptyIncrement()));
        if (files.size() != 1) {
            throw new IllegalStateException("The rows of a group are in " + files.size() + " files");
        }
    }

    List<CommitMessage> commit() throws IOException {
        finish();
        return messages;
    }

    void abort() throws IOException {
        CommitFiles.deleteData(rows.table(), messages);
        if (writer != null) {
            writer.abort();
        }
    }

    void close() throws IOException {
        if (writer != null) {
            writer.close();
        }
    }
}
