package paimark.scans;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.QuotingUtils$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Function1;
import scala.collection.Iterator;

/**
 * The rows of a file that have the wanted values.
 *
 * <p>In batches, only the columns with conditions are read of most rows.
 */
public final class MatchingRows implements Closeable {
    private final Iterator source;
    private final WantedColumn[] wanted;
    private final int[] places;
    private final Values[] at;
    private final int[] required;
    private final int sorted;
    private final AtomicLong left;
    private InternalRow row;
    private ColumnarBatch batch;
    private int[] rows = new int[0];
    private int count;
    private int next;
    private boolean isFirst = true;
    private boolean isPast;
    private boolean isWithout;

    /**
     * {@code left} is how many more rows may be read by all that share it; below 0 no more rows are returned.
     * {@code required} are indexes of columns that a file has for all of its rows or for none. {@code sorted} is
     * the index in {@code wanted} of the column by which the rows are sorted; -1 for none.
     */
    public MatchingRows(
            Iterator source, WantedColumn[] wanted, int[] places, int[] required, int sorted, AtomicLong left) {
        this.source = source;
        this.wanted = wanted;
        this.places = places;
        this.required = required;
        this.sorted = sorted;
        this.left = left;
        at = new Values[wanted.length];
        for (int column = 0; column < at.length; column++) {
            at[column] = new Values(wanted[column].kind);
        }
    }

    /** The next row; null at the end. It is valid until the next call. */
    public InternalRow next() {
        while (next == count && !isWithout && !isPast && left.get() >= 0 && source.hasNext()) {
            take(source.next());
        }
        if (next == count || isWithout) {
            return null;
        }
        int place = next++;
        return batch == null ? row : batch.getRow(rows[place]);
    }

    /** Whether {@code next} found that the file lacks the required columns. Then it returned no row. */
    public boolean isWithout() {
        return isWithout;
    }

    public void close() throws IOException {
        if (source instanceof Closeable) {
            ((Closeable) source).close();
        }
    }

    private void take(Object taken) {
        next = 0;
        if (taken instanceof ColumnarBatch) {
            batch = (ColumnarBatch) taken;
            count = batch.numRows();
        } else {
            row = (InternalRow) taken;
            count = 1;
        }
        left.addAndGet(-count);
        if (isFirst && count > 0) {
            isFirst = false;
            isWithout = hasNulls(batch == null ? row : batch.getRow(0));
        }
        if (batch == null) {
            matchRow();
        } else {
            matchBatch();
        }
    }

    private boolean hasNulls(InternalRow first) {
        for (int each = 0; each < required.length; each++) {
            if (first.isNullAt(required[each])) {
                return true;
            }
        }
        return false;
    }

    private void matchRow() {
        for (int column = 0; column < wanted.length && count > 0; column++) {
            count = wanted[column].has(at[column], row, places[column]) ? 1 : 0;
        }
    }

    private void matchBatch() {
        if (rows.length < count) {
            rows = new int[count];
        }
        isPast = sorted >= 0 && count > 0 && wanted[sorted].isPast(batch, places[sorted], count - 1);
        for (int number = 0; number < count; number++) {
            rows[number] = number;
        }
        for (int column = 0; column < wanted.length; column++) {
            count = wanted[column].keep(batch, places[column], at[column], rows, count);
        }
    }
}

/** The wanted values of a column. */
final class WantedColumn {
    public final int[] kind;
    private final Values[] values;
    // Sorted; null if the values are not whole numbers.
    private final long[] numbers;

    public WantedColumn(int kind, JsonNode given) throws IOException {
        this.kind = new int[] {kind};
        values = new Values[given.size()];
        numbers = Values.isWhole(kind) ? new long[values.length] : null;
        for (int each = 0; each < values.length; each++) {
            values[each] = Values.of(this.kind, Json.item(given, each));
            if (numbers != null) {
                numbers[each] = values[each].whole();
            }
        }
        if (numbers != null) {
            Arrays.sort(numbers);
        }
    }

    /** Whether a row has a wanted value. {@code at} is a buffer for a value of the column. */
    boolean has(Values at, InternalRow row, int place) {
        at.read(row, new int[] {place});
        if (at.hasNulls()) {
            return false;
        }
        for (int each = 0; each < values.length; each++) {
            if (at.compare(values[each], false) == 0) {
                return true;
            }
        }
        return false;
    }

    /** Moves those of the first {@code count} rows that match to the front, and returns how many they are. */
    int keep(ColumnarBatch batch, int place, Values at, int[] rows, int count) {
        ColumnVector column = batch.column(place);
        int kept = 0;
        for (int each = 0; each < count; each++) {
            int row = rows[each];
            boolean isKept =
                    numbers == null
                            ? has(at, batch.getRow(row), place)
                            : !column.isNullAt(row) && isAmong(Values.whole(column, row, kind[0]));
            if (isKept) {
                rows[kept++] = row;
            }
        }
        return kept;
    }

    /** Whether a row's value is greater than all wanted values. */
    boolean isPast(ColumnarBatch batch, int place, int row) {
        ColumnVector column = batch.column(place);
        return numbers != null
                && numbers.length > 0
                && !column.isNullAt(row)
                && Values.whole(column, row, kind[0]) > numbers[numbers.length - 1];
    }

    private boolean isAmong(long number) {
        return numbers.length == 1 ? numbers[0] == number : Arrays.binarySearch(numbers, number) >= 0;
    }

    /** A Spark filter for the values; null for a type by which readers skip nothing. */
    Object filter(StructField field, boolean isOrc) {
        // The form of dates in ORC filters depends on the session.
        if (isOrc && field.dataType() instanceof DateType) {
            return null;
        }
        Object[] pushed = new Object[values.length];
        for (int each = 0; each < pushed.length; each++) {
            pushed[each] = values[each].pushed(field.dataType());
            if (pushed[each] == null) {
                return null;
            }
        }
        String name = QuotingUtils$.MODULE$.quoteIfNeeded(field.name());
        return pushed.length == 1 ? (Object) new EqualTo(name, pushed[0]) : new In(name, pushed);
    }
}

/** Opens files of one layout by Spark's reader. Thread-safe. */
final class FileReader {
    public final Layout layout;
    private final SparkSession session;
    private final scala.collection.immutable.Seq filters;
    private final ParquetBatches batches;
    private Function1 open;

    public FileReader(SparkSession session, Layout layout, WantedColumn[] wanted, ParquetFooters footers)
            throws Exception {
        this.layout = layout;
        this.session = session;
        filters = filters(wanted);
        boolean isParquet = layout.format.equals("parquet");
        batches = isParquet ? ParquetBatches.of(session, layout.columns, filters, footers) : null;
    }

    /** An iterator of rows, or of batches. */
    public Iterator open(String address, long size) throws Exception {
        Iterator rows = batches == null ? null : batches.open(address, size);
        return rows != null ? rows : (Iterator) byFormat().apply(FileReaders.whole(address, size));
    }

    private synchronized Function1 byFormat() {
        // Avro's reader has one row buffer for all files, so each thread needs a reader of its own.
        if (open == null || layout.format.equals("avro")) {
            open = FileReaders.of(session, layout.columns, layout.format, filters, true);
        }
        return open;
    }

    /** Filters by which a reader skips pages and row groups. Every row is still checked. */
    private scala.collection.immutable.Seq filters(WantedColumn[] wanted) {
        boolean isOrc = layout.format.equals("orc");
        ArrayList filters = new ArrayList();
        for (int column = 0; column < wanted.length; column++) {
            Object filter = wanted[column].filter(layout.columns.apply(layout.conditions[column]), isOrc);
            if (filter != null) {
                filters.add(filter);
            }
        }
        return PythonUtils.toSeq(filters);
    }
}

/** The columns to read from files, and their indexes in the rows: -1 for a missing one. */
final class Layout {
    public final String name;
    public final String format;
    public final StructType columns;
    public final int[] key;
    public final int[] sequence;
    public final int number;
    public final int kind;
    public final int row;
    public final int[] conditions;
    public final int sorted;
    public final JsonNode made;

    public Layout(JsonNode layout) {
        name = Json.item(layout, "name").asText();
        format = Json.item(layout, "format").asText();
        columns = Json.schema(layout, "columns");
        key = places(Json.item(layout, "key"));
        sequence = places(Json.item(layout, "sequence"));
        number = Json.item(layout, "number").asInt();
        kind = Json.item(layout, "kind").asInt();
        row = Json.item(layout, "row").asInt();
        conditions = places(Json.item(layout, "conditions"));
        sorted = Json.item(layout, "sorted").asInt();
        made = Json.item(layout, "made");
    }

    private static int[] places(JsonNode indexes) {
        int[] places = new int[indexes.size()];
        for (int each = 0; each < places.length; each++) {
            places[each] = Json.item(indexes, each).asInt();
        }
        return places;
    }
}
