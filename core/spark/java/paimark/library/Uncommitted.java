package paimark.library;

import java.io.IOException;
import java.util.List;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;

/** What Spark's tasks made for one commit to a branch of a table, and how Python is to commit it. */
public abstract class Uncommitted {
    final WrittenTable written;
    final FileStoreTable table;
    final String user;
    List<CommitMessage> messages = List.of();
    private Committing trying;

    /** {@code known} is the JSON of the snapshot that the tasks stand on; null: there is none. */
    Uncommitted(WrittenTable written, String known, String user) {
        this.written = written;
        this.user = user;
        table = written.at(written.state(known));
    }

    abstract Committing.Change change(String before);

    /** Whether somebody committed what can't stay beside this; {@code now} is the JSON of the newest snapshot. */
    public abstract boolean isOutrun(String now) throws IOException;

    /** Whether the tasks stood on buckets of keys that are others by now, in the snapshot with this JSON. */
    public abstract boolean hasOtherBuckets(String now);

    /** Whether there is nothing to commit, if that is no overwrite. */
    public boolean isEmpty() {
        return messages.isEmpty();
    }

    /** The addresses of the data files, apart by new lines. */
    public String addresses() {
        return String.join("\n", CommitFiles.addresses(table, messages));
    }

    /** Try to commit on that snapshot. {@code isFast}: leave the table's many small manifests as they are. */
    public Committing committing(String before, boolean isFast) {
        trying = new Committing(written, before, isFast, change(before));
        return trying;
    }

    /** Nobody will commit it any more: a try that still waits for an answer will get none. */
    void end() {
        if (trying != null) {
            trying.giveUp();
        }
    }

    /** Delete the files of a commit that was not made, and never will be. */
    public void delete() {
        CommitFiles.deleteData(table, messages);
        messages = List.of();
    }

    /** The table's option; -1: it has none. */
    public int commitRetries() {
        return written.options().toMap().containsKey(CoreOptions.COMMIT_MAX_RETRIES.key())
                ? written.options().commitMaxRetries() : -1;
    }

    /** In milliseconds; -1: the table says nothing. */
    public long commitMostWait() {
        return written.options().toMap().containsKey(CoreOptions.COMMIT_MAX_RETRY_WAIT.key())
                ? written.options().commitMaxRetryWait() : -1;
    }

    public long commitLeastWait() {
        return written.options().commitMinRetryWait();
    }

    public long commitTimeout() {
        return written.options().commitTimeout();
    }
}
