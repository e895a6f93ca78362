import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.RowKind;

/**
 * Stock Paimon changing rows as {@code benchmarks.spark_changes} has it done by statements: every hundredth key.
 *
 * <p>A task for each split reads, one for each bucket of two writes, and all is one commit.
 */
final class StockChanges {
    private static final int BUCKETS = 2;
    private static final int PART = 100;

    private StockChanges() {}

    /** {@code keys} are those with this remainder. A merge brings {@code count} of them, of which some are new. */
    static String change(Table table, String what, long keys, long count, ExecutorService pool) throws Exception {
        Map<Long, Double> source = new HashMap<>();
        for (long number = 0; what.equals("merge") && number < count; number++) {
            source.put(number * PART + keys, (double) number);
        }
        List<Future<List<InternalRow>>> reads = new ArrayList<>();
        for (Split split : table.newReadBuilder().newScan().plan().splits()) {
            reads.add(pool.submit(() -> changed(table, split, what, keys, source)));
        }
        List<InternalRow> rows = new ArrayList<>();
        for (Future<List<InternalRow>> each : reads) {
            rows.addAll(each.get());
        }
        if (what.equals("merge")) {
            rows.forEach(row -> source.remove(row.getLong(0)));
            source.forEach((id, amount) -> rows.add(GenericRow.of(id, null, amount, null, null)));
        }
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableWrite write = builder.newWrite(); BatchTableCommit commit = builder.newCommit()) {
            write.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
            for (InternalRow row : rows) {
                write.write(row);
            }
            commit.commit(write.prepareCommit());
        }
        return String.valueOf(rows.size());
    }

    private static List<InternalRow> changed(
            Table table, Split split, String what, long keys, Map<Long, Double> source) throws Exception {
        List<InternalRow> found = new ArrayList<>();
        try (RecordReader<InternalRow> reader = table.newReadBuilder().newRead().createReader(split)) {
            reader.forEachRemaining(row -> {
                long id = row.getLong(0);
                Double merged = source.get(id);
                if (what.equals("merge") ? merged == null : id % PART != keys) {
                    return;
                }
                double amount = what.equals("merge") ? merged : what.equals("update") ? row.getDouble(2) + 1 : row.getDouble(2);
                GenericRow changed = GenericRow.of(id, copy(row.getString(1)), amount, row.getInt(3), copy(row.getString(4)));
                changed.setRowKind(what.equals("delete") ? RowKind.DELETE : RowKind.UPDATE_AFTER);
                found.add(changed);
            });
        }
        return found;
    }

    private static BinaryString copy(BinaryString text) {
        return text == null ? null : text.copy();
    }

    static String compact(Table given, ExecutorService pool) throws Exception {
        Table table = given.copy(Map.of("write-only", "false"));
        List<Future<List<CommitMessage>>> parts = new ArrayList<>();
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            int number = bucket;
            parts.add(pool.submit(() -> {
                try (BatchTableWrite write = ((FileStoreTable) table).newBatchWriteBuilder().newWrite()) {
                    write.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
                    write.compact(BinaryRow.EMPTY_ROW, number, true);
                    return write.prepareCommit();
                }
            }));
        }
        List<CommitMessage> messages = new ArrayList<>();
        for (Future<List<CommitMessage>> each : parts) {
            messages.addAll(each.get());
        }
        try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
            commit.commit(messages);
        }
        return "";
    }
}
