package paimark.library;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateVisitor;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.InnerTableRead;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.TableRead;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowType;
import org.apache.spark.SparkEnv;

/** The rows of splits, batch by batch, as the library reads them. */
final class SplitRows implements Closeable {
    private final FileStoreTable table;
    private final IOManager disk;
    private final TableRead read;
    private final List<Split> splits;
    private int next;
    private RecordReader<InternalRow> reader;
    private RecordReader.RecordIterator<InternalRow> batch;

    /**
     * The condition leaves out what it can without looking at rows. If {@code isExact}, no row comes that it does not
     * hold for, and rows have its columns after those to read.
     */
    SplitRows(FileStoreTable table, RowType wanted, Predicate condition, boolean isExact, List<Split> splits) {
        this.table = table;
        this.splits = splits;
        InnerTableRead made = (InnerTableRead) table.newRead();
        made.withReadType(readType(table, wanted, isExact ? condition : null));
        if (condition != null) {
            made.withFilter(condition);
        }
        // No limit: the library would select rows by a bitmap, and Spark stops by itself.
        disk = IOManager.create(SparkEnv.get().blockManager().diskBlockManager().localDirsString());
        read = (isExact ? made.executeFilter() : made).withIOManager(disk);
    }

    private static RowType readType(FileStoreTable table, RowType wanted, Predicate condition) {
        List<DataField> fields = new ArrayList<>(wanted.getFields());
        if (condition != null) {
            // The library drops conditions on columns that it does not read.
            for (String name : PredicateVisitor.collectFieldNames(condition)) {
                if (!wanted.containsField(name)) {
                    fields.add(table.rowType().getField(name));
                }
            }
        }
        if (fields.isEmpty()) {
            // The library needs a column to count rows by.
            fields.add(cheapest(table));
        }
        return new RowType(fields);
    }

    private static DataField cheapest(FileStoreTable table) {
        List<String> keys = table.primaryKeys();
        return keys.isEmpty() ? table.rowType().getFields().get(0) : table.rowType().getField(keys.get(0));
    }

    /** The next batch, which is released with the one after it; null after the last one. */
    RecordReader.RecordIterator<InternalRow> nextBatch() {
        try {
            release();
            while (true) {
                if (reader == null) {
                    if (next == splits.size()) {
                        return null;
                    }
                    reader = read.createReader(splits.get(next++));
                }
                batch = reader.readBatch();
                if (batch != null) {
                    return batch;
                }
                reader.close();
                reader = null;
            }
        } catch (IOException | RuntimeException error) {
            throw told(error);
        }
    }

    RuntimeException told(Exception error) {
        return ReadErrors.told(error, String.valueOf(table.location()));
    }

    private void release() {
        if (batch != null) {
            batch.releaseBatch();
            batch = null;
        }
    }

    @Override
    public void close() throws IOException {
        release();
        try {
            if (reader != null) {
                reader.close();
            }
        } finally {
            try {
                disk.close();
            } catch (IOException error) {
                throw error;
            } catch (Exception error) {
                throw new IOException(error);
            }
        }
    }
}
