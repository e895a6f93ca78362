package paimark.library;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.SinkRecord;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowType;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes the rows of one task to files that no snapshot names yet. */
final class RowWriter implements DataWriter<InternalRow> {
    private static final Logger LOG = LoggerFactory.getLogger(RowWriter.class);

    /** A write buffer takes no larger part of a machine's memory, divided by the tasks that it runs at once. */
    private static final int MEMORY_PART = 4;

    private static final List<String> KINDS = List.of("+I", "+U", "-U", "-D");

    private final NotedFiles files;
    private final FileStoreTable table;
    private final IOManager disk;
    private final TableWriteImpl<?> write;
    private final RowsForPaimon.OfRow row;
    /** The columns that may not be null, by their places in the table. */
    private final int[] required;
    private final OldMoments moments;
    /** The place of the column that tells what becomes of a row; -1: the table has none. */
    private final int kind;
    private final RowBuckets buckets;
    /** Null: rows are numbered by the library. */
    private final OneNumber number;
    /** Null: readers see new files. */
    private final ShownRows shown;
    private List<CommitMessage> messages;
    private boolean isClosed;

    private RowWriter(Factory of, RowType written) throws Exception {
        files = new NotedFiles(of.table.fileIO());
        FileStoreTable given = files.in(of.table);
        FileStoreTable rows = bounded(WrittenTable.forRows(given));
        boolean areShown = ShownRows.areNeeded(rows, of.replacing);
        table = areShown ? ShownRows.compacting(rows) : rows;
        disk = IOManager.create(SparkEnv.get().blockManager().diskBlockManager().localDirsString());
        write = table.newWrite(of.user)
                .withIgnorePreviousFiles(of.replacing != Replacing.NOTHING)
                .withIOManager(disk);
        shown = areShown ? new ShownRows(table, write) : null;
        // The real number of buckets is known for each partition only.
        write.fileStoreWrite().withIgnoreNumBucketCheck(of.postponed != null);
        RowType type = of.table.rowType();
        if (written != null) {
            write.withWriteType(written);
        }
        row = new RowsForPaimon.OfRow(type, places(type, of.columns));
        required = type.getFields().stream().filter(field -> !field.type().isNullable())
                .mapToInt(field -> type.getFieldIndex(field.name())).toArray();
        moments = new OldMoments(table);
        kind = of.table.coreOptions().rowkindField().map(type::getFieldIndex).orElse(-1);
        number = of.isChange ? new OneNumber(write) : null;
        buckets = RowBuckets.of(given, of.replacing, of.postponed, disk, this::put);
    }

    static int[] places(RowType type, List<String> columns) {
        return type.getFieldNames().stream().mapToInt(columns::indexOf).toArray();
    }

    /** The table with a write buffer that fits into this machine's memory, unless the table says how large it is. */
    private static FileStoreTable bounded(FileStoreTable table) {
        if (table.options().containsKey(CoreOptions.WRITE_BUFFER_SIZE.key())) {
            return table;
        }
        int cores = Math.max(Runtime.getRuntime().availableProcessors(), 1);
        long most = Runtime.getRuntime().maxMemory() / (MEMORY_PART * cores);
        long size = Math.min(table.coreOptions().writeBufferSize(), Math.max(most, 16L << 20));
        return table.copy(Map.of(CoreOptions.WRITE_BUFFER_SIZE.key(), size + " b"));
    }

    private void put(org.apache.paimon.data.InternalRow given, int bucket) {
        try {
            written(write.writeAndReturn(given, bucket));
        } catch (RuntimeException error) {
            throw error;
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    private void written(SinkRecord given) throws IllegalAccessException {
        if (number != null) {
            number.afterRow(given);
        }
        if (shown != null) {
            shown.afterRow(given);
        }
    }

    @Override
    public void write(InternalRow given) throws IOException {
        put(row.of(given));
    }

    /** Write a row of the table; it may be a delete of one. */
    void put(org.apache.paimon.data.InternalRow row) throws IOException {
        boolean comes = row.getRowKind().isAdd();
        for (int field : required) {
            if (comes && row.isNullAt(field)) {
                DataField column = table.rowType().getFields().get(field);
                throw RefusedRow.of("Column " + column.name() + " may not be null. Give every row a value.");
            }
        }
        moments.requireKept(row);
        if (kind >= 0) {
            requireKind(row);
        }
        try {
            if (buckets == null) {
                written(write.writeAndReturn(row));
            } else {
                buckets.put(row);
            }
        } catch (IOException | RuntimeException error) {
            throw error;
        } catch (Exception error) {
            throw new IOException(error);
        }
    }

    private void requireKind(org.apache.paimon.data.InternalRow row) throws IOException {
        String told = row.isNullAt(kind) ? "a null" : row.getString(kind).toString();
        if (!KINDS.contains(told)) {
            throw RefusedRow.of("Column " + table.rowType().getFieldNames().get(kind) + " says which rows are deletes, and "
                    + (row.isNullAt(kind) ? told : "'" + told + "'") + " is none of " + String.join(", ", KINDS)
                    + ". Give every row one of these.");
        }
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
        return new Told(prepared());
    }

    private List<CommitMessage> prepared() throws IOException {
        if (messages == null) {
            try {
                if (buckets != null) {
                    buckets.end();
                }
                List<CommitMessage> made = shown == null ? write.prepareCommit() : shown.prepared();
                messages = buckets == null ? made : buckets.told(made);
            } catch (IOException | RuntimeException error) {
                throw error;
            } catch (Exception error) {
                throw new IOException(error);
            }
        }
        return messages;
    }

    /** The task failed, was killed, or another attempt of it won: its files are deleted. */
    @Override
    public void abort() throws IOException {
        // A killed task is interrupted, and no file can be closed or deleted then.
        boolean wasInterrupted = Thread.interrupted();
        try {
            // An object is there once it is closed.
            close();
        } catch (Exception error) {
            LOG.warn("A task that failed can't close its files", error);
        } finally {
            files.deleteCreated();
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void close() throws IOException {
        if (isClosed) {
            return;
        }
        isClosed = true;
        try {
            write.close();
            if (buckets != null) {
                buckets.close();
            }
            disk.close();
        } catch (IOException | RuntimeException error) {
            throw error;
        } catch (Exception error) {
            throw new IOException(error);
        }
    }

    /** What a task wrote. */
    static final class Told implements WriterCommitMessage {
        private static final long serialVersionUID = 1L;

        final List<CommitMessage> messages;

        Told(List<CommitMessage> messages) {
            this.messages = messages;
        }
    }

    /** {@code columns} are those of Spark's rows. {@code isChange}: as {@link OneNumber}. */
    record Factory(FileStoreTable table, String user, List<String> columns, Replacing replacing,
            PostponedBuckets postponed, boolean isChange) implements DataWriterFactory {
        @Override
        public DataWriter<InternalRow> createWriter(int partition, long task) {
            return createWriter(null);
        }

        /** {@code written} are the columns of the files, where these are not the table's; else null. */
        RowWriter createWriter(RowType written) {
            try {
                return new RowWriter(this, written);
            } catch (RuntimeException error) {
                throw error;
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
