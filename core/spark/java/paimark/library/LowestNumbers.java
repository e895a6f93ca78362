package paimark.library;

import java.lang.reflect.Field;
import org.apache.paimon.mergetree.MergeTreeWriter;
import org.apache.paimon.operation.AbstractFileStoreWrite;
import org.apache.paimon.table.sink.SinkRecord;
import org.apache.paimon.table.sink.TableWriteImpl;

/**
 * Gives all rows of a write the sequence number 0, so that what others commit meanwhile is newer.
 *
 * <p>Numbers order the rows of one key, and here each key has one. The library has no way to choose them. If a later one
 * names its field otherwise, rows are numbered as ever: then fewer commits of others are newer, which is looked at.
 */
final class LowestNumbers {
    private static final Field NEXT = field();

    private final AbstractFileStoreWrite<?> write;

    LowestNumbers(TableWriteImpl<?> write) {
        this.write = (AbstractFileStoreWrite<?>) write.fileStoreWrite();
    }

    private static Field field() {
        try {
            Field found = MergeTreeWriter.class.getDeclaredField("newSequenceNumber");
            found.setAccessible(true);
            return found;
        } catch (NoSuchFieldException unknown) {
            return null;
        }
    }

    /** The writer that wrote this row numbers the next one as it did this one. */
    void afterRow(SinkRecord row) throws IllegalAccessException {
        if (NEXT != null && row != null) {
            NEXT.setLong(write.writers().get(row.partition()).get(row.bucket()).writer, 0);
        }
    }
}
