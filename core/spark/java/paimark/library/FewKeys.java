package paimark.library;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** The rows of a few keys, read in this process: a job would take longer than they do. */
final class FewKeys implements LocalScan {
    private static final Set<String> BINDING = Set.of("=", "<=>", "IN");
    private static final int MOST_KEYS = 64;
    private static final int MOST_SPLITS = 16;
    /** What the files with these keys may have; of each only the row groups with a key are read. */
    private static final long MOST_BYTES = 256L << 20;
    private static final ExecutorService READERS =
            Executors.newFixedThreadPool(Math.min(8, Runtime.getRuntime().availableProcessors()), work -> {
                Thread thread = new Thread(work, "paimark-keys");
                thread.setDaemon(true);
                thread.setContextClassLoader(FewKeys.class.getClassLoader());
                return thread;
            });

    private final LibraryTable table;
    private final StructType shown;
    private final RowType read;
    private final Predicate condition;
    private InternalRow[] rows;

    FewKeys(LibraryTable table, StructType shown, RowType read, Predicate condition) {
        this.table = table;
        this.shown = shown;
        this.read = read;
        this.condition = condition;
    }

    /** Whether the conditions leave few keys, in few files. {@code given} are the same conditions in Spark's form. */
    static boolean areFew(
            LibraryTable table,
            List<Predicate> conditions,
            org.apache.spark.sql.connector.expressions.filter.Predicate[] given) {
        Set<String> open = new HashSet<>(table.table.primaryKeys());
        if (open.isEmpty()) {
            return false;
        }
        long keys = 1;
        for (org.apache.spark.sql.connector.expressions.filter.Predicate each : given) {
            boolean isBound = BINDING.contains(each.name()) && each.references().length == 1;
            if (isBound && open.remove(String.join(".", each.references()[0].fieldNames()))) {
                keys *= each.children().length - 1;
            }
        }
        if (!open.isEmpty() || keys > MOST_KEYS) {
            return false;
        }
        List<Split> splits = table.splits(PredicateBuilder.and(conditions));
        return splits.size() <= MOST_SPLITS
                && splits.stream().mapToLong(PackedSplits::bytesOf).sum() <= MOST_BYTES;
    }

    @Override
    public StructType readSchema() {
        return shown;
    }

    @Override
    public synchronized InternalRow[] rows() {
        if (rows == null) {
            rows = read(table.splits(condition));
        }
        return rows;
    }

    /** Splits are read side by side: each one waits for its files. */
    private InternalRow[] read(List<Split> splits) {
        List<Future<List<InternalRow>>> parts = new ArrayList<>();
        for (Split split : splits.subList(Math.min(1, splits.size()), splits.size())) {
            parts.add(READERS.submit(() -> read(split)));
        }
        try {
            List<InternalRow> found = splits.isEmpty() ? new ArrayList<>() : read(splits.get(0));
            for (Future<List<InternalRow>> part : parts) {
                found.addAll(part.get());
            }
            return found.toArray(new InternalRow[0]);
        } catch (ExecutionException error) {
            throw ReadErrors.told((Exception) error.getCause(), table.name());
        } catch (IOException | InterruptedException error) {
            throw ReadErrors.told(error, table.name());
        } finally {
            parts.forEach(part -> part.cancel(true));
        }
    }

    private List<InternalRow> read(Split split) throws IOException {
        List<InternalRow> found = new ArrayList<>();
        RowValues.Row row = new RowValues.Row(read);
        try (SplitRows rows = new SplitRows(table.table, read, condition, true, List.of(split))) {
            RecordReader.RecordIterator<org.apache.paimon.data.InternalRow> batch;
            while ((batch = rows.nextBatch()) != null) {
                org.apache.paimon.data.InternalRow each;
                while ((each = batch.next()) != null) {
                    found.add(row.of(each).copy());
                }
            }
        }
        return found;
    }
}
