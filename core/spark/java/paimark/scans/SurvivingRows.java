package paimark.scans;

import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Function1;
import scala.Option;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * Formats of files with bits: the column {@code NUMBER} is null in rows whose bit is not set.
 *
 * <p>The bits of a file are sent with its splits, as metadata, and never in a column: Spark copies all columns when it makes rows of
 * batches.
 */
public final class SurvivingRows {
    /** The column of row numbers that a frame reads. */
    public static final String NUMBER = "__paimon_row";

    /** The key under which {@code FileList} gives a split the bits of its file. */
    static final String BITS = "__paimon_bits";

    private static final String ROW_INDEX = "_tmp_metadata_row_index";
    private static final String SEQUENCE = "_SEQUENCE_NUMBER";

    public FileFormat parquet() {
        return new OfParquet();
    }

    public FileFormat orc() {
        return new OfOrc();
    }

    /** Rows are identified by their index in the file. */
    private static final class OfParquet extends ParquetFileFormat {
        @Override
        public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
                SparkSession session, StructType data, StructType partition, StructType required,
                Seq<Filter> filters, Map<String, String> options, Configuration conf) {
            return surviving(required, super.buildReaderWithPartitionValues(session, renamed(data, ROW_INDEX),
                    partition, renamed(required, ROW_INDEX), filters, options, conf));
        }
    }

    /** Rows are identified by their sequence numbers. */
    private static final class OfOrc extends OrcFileFormat {
        @Override
        public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
                SparkSession session, StructType data, StructType partition, StructType required,
                Seq<Filter> filters, Map<String, String> options, Configuration conf) {
            return surviving(required, super.buildReaderWithPartitionValues(session, renamed(data, SEQUENCE),
                    partition, renamed(required, SEQUENCE), filters, options, conf));
        }
    }

    /** The schema with our column replaced by the format's own column that identifies rows. */
    private static StructType renamed(StructType schema, String name) {
        StructField[] fields = schema.fields().clone();
        for (int place = 0; place < fields.length; place++) {
            if (fields[place].name().equals(NUMBER)) {
                fields[place] = DataTypes.createStructField(name, DataTypes.LongType, true);
            }
        }
        return new StructType(fields);
    }

    private static Function1<PartitionedFile, Iterator<InternalRow>> surviving(
            StructType required, Function1<PartitionedFile, Iterator<InternalRow>> reader) {
        Option<Object> place = required.getFieldIndex(NUMBER);
        return place.isEmpty() ? reader : new SurvivingReader(reader, (Integer) place.get());
    }
}

/** In a task: reads one split after the other. */
final class SurvivingReader extends AbstractFunction1<PartitionedFile, Iterator<InternalRow>> implements Serializable {
    private final Function1<PartitionedFile, Iterator<InternalRow>> reader;
    private final int place;

    SurvivingReader(Function1<PartitionedFile, Iterator<InternalRow>> reader, int place) {
        this.reader = reader;
        this.place = place;
    }

    @Override
    public Iterator<InternalRow> apply(PartitionedFile split) {
        Iterator<?> rows = reader.apply(split);
        Option<Object> encoded = split.otherConstantMetadataColumnValues().get(SurvivingRows.BITS);
        // Batches come as rows too.
        return (Iterator<InternalRow>) (encoded.isEmpty() ? rows
                : new Survivors(rows, new NumberedRows(new FileBits((byte[]) encoded.get()), place)));
    }
}

/** The surviving rows of a file. */
final class Survivors extends AbstractIterator<Object> implements Closeable {
    private final Iterator<?> rows;
    private final NumberedRows survival;
    private Object next;

    Survivors(Iterator<?> rows, NumberedRows survival) {
        this.rows = rows;
        this.survival = survival;
    }

    public boolean hasNext() {
        while (next == null && rows.hasNext()) {
            next = survival.survivor(rows.next());
        }
        return next != null;
    }

    public Object next() {
        hasNext();
        Object found = next;
        next = null;
        return found;
    }

    public void close() throws IOException {
        survival.close();
        if (rows instanceof Closeable) {
            ((Closeable) rows).close();
        }
    }
}

/** Decides which of a file's rows survive: in batches, sets the numbers of the others to null. */
final class NumberedRows implements Closeable {
    private final FileBits bits;
    private final int place;
    private WritableColumnVector numbers;
    private int capacity;

    NumberedRows(FileBits bits, int place) {
        this.bits = bits;
        this.place = place;
    }

    /** The row if it survives, else null; or a batch with its surviving rows marked. */
    Object survivor(Object read) {
        if (read instanceof ColumnarBatch) {
            return marked((ColumnarBatch) read);
        }
        return bits.isSet(((InternalRow) read).getLong(place)) ? read : null;
    }

    private ColumnarBatch marked(ColumnarBatch batch) {
        ColumnVector read = batch.column(place);
        if (read instanceof WritableColumnVector) {
            // The reader makes a new vector for each batch.
            WritableColumnVector vector = (WritableColumnVector) read;
            vector.putNotNulls(0, batch.numRows());
            mark(vector, vector, batch.numRows());
            return batch;
        }
        if (capacity < batch.numRows()) {
            close(numbers);
            capacity = batch.numRows();
            numbers = new OnHeapColumnVector(capacity, DataTypes.LongType);
        }
        numbers.reset();
        mark(read, numbers, batch.numRows());
        ColumnVector[] columns = new ColumnVector[batch.numCols()];
        for (int each = 0; each < columns.length; each++) {
            columns[each] = each == place ? numbers : batch.column(each);
        }
        return new ColumnarBatch(columns, batch.numRows());
    }

    private void mark(ColumnVector read, WritableColumnVector into, int rows) {
        for (int row = 0; row < rows; row++) {
            if (!bits.isSet(read.getLong(row))) {
                into.putNull(row);
            }
        }
    }

    private static void close(WritableColumnVector vector) {
        if (vector != null) {
            vector.close();
        }
    }

    public void close() {
        close(numbers);
    }
}

/** One bit for each number from the first on, encoded by {@code bitmap.py}. */
final class FileBits {
    private static final int HEAD = 12;
    private final long first;
    private final byte[] bits;

    public FileBits(byte[] encoded) {
        ByteBuffer head = ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN);
        first = head.getLong();
        bits = new byte[head.getInt()];
        int length = encoded.length - HEAD;
        if (length == bits.length) {
            System.arraycopy(encoded, HEAD, bits, 0, length);
        } else {
            inflate(encoded, length);
        }
    }

    private void inflate(byte[] encoded, int length) {
        Inflater inflater = new Inflater();
        inflater.setInput(encoded, HEAD, length);
        try {
            int filled = 0;
            while (filled < bits.length) {
                int more = inflater.inflate(bits, filled, bits.length - filled);
                if (more == 0) {
                    throw new IllegalStateException("the bits of a file are cut off");
                }
                filled += more;
            }
        } catch (DataFormatException error) {
            throw new IllegalStateException(error);
        } finally {
            inflater.end();
        }
    }

    public boolean isSet(long number) {
        long bit = number - first;
        return bit >= 0 && bit >> 3 < bits.length && (bits[(int) (bit >> 3)] >> (bit & 7) & 1) != 0;
    }
}
