package paimark.library;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.predicate.PredicateVisitor;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowType;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedUnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A few rows of some splits, read in this process: a job would take longer than they do. */
final class FewRows {
    private static final ExecutorService READERS =
            Executors.newFixedThreadPool(Math.min(8, Runtime.getRuntime().availableProcessors()), work -> {
                Thread thread = new Thread(work, "paimark-keys");
                thread.setDaemon(true);
                thread.setContextClassLoader(FewRows.class.getClassLoader());
                return thread;
            });

    private static final int MOST_FOUND = 2_000;

    private final FileStoreTable table;
    private final StructType shown;
    private final RowType read;
    private final Predicate ofFiles;
    private final Predicate ofRows;
    private final Predicate past;
    private final AtomicLong rows;
    private final AtomicLong bytes;
    private volatile boolean isStopped;

    /**
     * Rows have the columns {@code shown}, with values in those that are {@code needed}. {@code condition} null: any
     * row. {@code ofFiles} is the part of it by which the library leaves out rows of files without looking at them. In
     * files that are merged, no row comes after one that is {@code past} all; null: rows have no order.
     */
    FewRows(
            FileStoreTable table,
            StructType shown,
            Collection<String> needed,
            Predicate condition,
            Predicate ofFiles,
            Predicate past,
            long mostRows,
            long mostBytes) {
        this.table = table;
        this.shown = shown;
        this.ofFiles = ofFiles;
        rows = new AtomicLong(mostRows);
        bytes = new AtomicLong(mostBytes);
        Set<String> columns = new HashSet<>(needed);
        if (condition != null) {
            columns.addAll(PredicateVisitor.collectFieldNames(condition));
        }
        List<DataField> all = table.rowType().getFields();
        read = new RowType(all.stream().filter(each -> columns.contains(each.name())).collect(Collectors.toList()));
        int[] places = all.stream().mapToInt(each -> read.getFieldIndex(each.name())).toArray();
        ofRows = mapped(condition, places);
        this.past = mapped(past, places);
    }

    private static Predicate mapped(Predicate condition, int[] places) {
        return condition == null ? null : PredicateBuilder.transformFieldMapping(condition, places).get();
    }

    /** Makes a running {@code of} fail. Any thread may call this. */
    void stop() {
        isStopped = true;
    }

    /** The rows; null if too many are found, or have to be looked at. Splits are read side by side. */
    List<InternalRow> of(List<Split> splits) throws IOException {
        List<Future<List<InternalRow>>> parts = new ArrayList<>();
        for (Split split : splits.subList(Math.min(1, splits.size()), splits.size())) {
            parts.add(READERS.submit(() -> read(split, Integer.MAX_VALUE)));
        }
        try {
            List<InternalRow> found = splits.isEmpty() ? new ArrayList<>() : read(splits.get(0), Integer.MAX_VALUE);
            for (Future<List<InternalRow>> part : parts) {
                found.addAll(part.get());
            }
            return rows.get() < 0 ? null : found;
        } catch (ExecutionException error) {
            throw ReadErrors.told((Exception) error.getCause(), table.name());
        } catch (InterruptedException error) {
            throw ReadErrors.told(error, table.name());
        } finally {
            parts.forEach(part -> part.cancel(true));
        }
    }

    /** The first {@code most} rows, of one split after the other; null if too many have to be looked at. */
    List<InternalRow> first(List<Split> splits, int most) throws IOException {
        List<InternalRow> found = new ArrayList<>();
        for (Split split : splits) {
            if (found.size() < most && rows.get() >= 0) {
                found.addAll(read(split, most - found.size()));
            }
        }
        return rows.get() < 0 ? null : found;
    }

    private List<InternalRow> read(Split split, int most) throws IOException {
        List<InternalRow> found = new ArrayList<>();
        RowValues.Row row = new RowValues.Row(read);
        UnsafeProjection projection = projection();
        boolean isSorted = past != null && split instanceof DataSplit && !((DataSplit) split).rawConvertible();
        try (SplitRows source = new SplitRows(table, read, ofFiles, false, List.of(split))) {
            RecordReader.RecordIterator<org.apache.paimon.data.InternalRow> batch;
            while (rows.get() >= 0 && (batch = source.nextBatch()) != null) {
                org.apache.paimon.data.InternalRow each;
                while (rows.decrementAndGet() >= 0 && (each = batch.next()) != null) {
                    if (isStopped) {
                        throw new IOException("nobody waits for the rows any more");
                    }
                    if (isSorted && past.test(each)) {
                        return found;
                    }
                    if (ofRows == null || ofRows.test(each)) {
                        UnsafeRow made = projection.apply(row.of(each)).copy();
                        if (bytes.addAndGet(-made.getSizeInBytes()) < 0) {
                            // Not too many for all questions of this kind: rows of other keys may be smaller.
                            throw new IOException("the rows are too big to be kept");
                        }
                        found.add(made);
                        if (found.size() == most) {
                            return found;
                        }
                        if (found.size() > MOST_FOUND) {
                            rows.set(-1);
                        }
                    }
                }
            }
        }
        return found;
    }

    private UnsafeProjection projection() {
        List<Expression> columns = new ArrayList<>();
        for (StructField field : shown.fields()) {
            int place = read.getFieldIndex(field.name());
            columns.add(place < 0 ? new Literal(null, field.dataType())
                    : new BoundReference(place, field.dataType(), true));
        }
        return InterpretedUnsafeProjection$.MODULE$.createProjection(PythonUtils.toSeq(columns));
    }
}
