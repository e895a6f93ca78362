package paimark.library;

import java.lang.reflect.Field;
import org.apache.paimon.mergetree.MergeTreeWriter;
import org.apache.paimon.operation.AbstractFileStoreWrite;
import org.apache.paimon.table.sink.SinkRecord;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.utils.RecordWriter;

/**
 * Gives all rows of a change the first sequence number that is free in their bucket, so that what others write later is
 * newer.
 *
 * <p>Numbers order the rows of one key, and here each key has one. A job that stays open counts its rows by itself, from
 * what was there when it began: with a number for each row, the change would be newer than as many rows of the job to
 * come. The library has no way to choose numbers. If a later one names its field otherwise, rows are numbered as ever.
 */
final class OneNumber {
    private static final Field NEXT = field();

    private final AbstractFileStoreWrite<?> write;

    OneNumber(TableWriteImpl<?> write) {
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
        if (NEXT == null || row == null) {
            return;
        }
        RecordWriter<?> writer = write.writers().get(row.partition()).get(row.bucket()).writer;
        if (writer instanceof MergeTreeWriter) {
            NEXT.setLong(writer, NEXT.getLong(writer) - 1);
        }
    }
}
