package paimark.library;

import java.io.IOException;
import java.util.Arrays;
import org.apache.paimon.data.columnar.VectorizedColumnBatch;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.reader.VectorizedRecordIterator;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** The rows of a task in columns, which are the library's own where it has them. */
final class PartitionBatches implements PartitionReader<ColumnarBatch> {
    private static final int COPIED = 4096;

    private final SplitRows splits;
    private final BatchColumn[] columns;
    private final ColumnarBatch viewed;
    private final RowValues.Row row;
    private final StructType types;
    private RecordReader.RecordIterator<org.apache.paimon.data.InternalRow> batch;
    private OnHeapColumnVector[] copies;
    private ColumnarBatch shown;

    PartitionBatches(SplitRows splits, RowType type) {
        this.splits = splits;
        columns = type.getFieldTypes().stream().map(BatchColumn::new).toArray(BatchColumn[]::new);
        viewed = new ColumnarBatch(Arrays.copyOf(columns, columns.length, ColumnVector[].class));
        row = new RowValues.Row(type);
        types = SparkTypes.of(type);
    }

    @Override
    public boolean next() {
        try {
            if (batch != null && !(batch instanceof VectorizedRecordIterator) && copied()) {
                return true;
            }
            while ((batch = splits.nextBatch()) != null) {
                if (batch instanceof VectorizedRecordIterator) {
                    view(((VectorizedRecordIterator) batch).batch());
                    return true;
                }
                if (copied()) {
                    return true;
                }
            }
            return false;
        } catch (IOException error) {
            throw splits.told(error);
        }
    }

    private void view(VectorizedColumnBatch read) {
        for (int i = 0; i < columns.length; i++) {
            columns[i].of(read.columns[i]);
        }
        viewed.setNumRows(read.getNumRows());
        shown = viewed;
    }

    /** Rows that an index selected come one by one. Whether there were any. */
    private boolean copied() throws IOException {
        if (copies == null) {
            copies = OnHeapColumnVector.allocateColumns(COPIED, types);
        }
        for (OnHeapColumnVector copy : copies) {
            copy.reset();
        }
        int rows = 0;
        for (; rows < COPIED; rows++) {
            org.apache.paimon.data.InternalRow found = batch.next();
            if (found == null) {
                break;
            }
            row.of(found);
            for (int i = 0; i < copies.length; i++) {
                copy(row, i, copies[i], rows);
            }
        }
        shown = new ColumnarBatch(copies, rows);
        return rows > 0;
    }

    private static void copy(InternalRow row, int i, OnHeapColumnVector to, int at) {
        DataType type = to.dataType();
        if (row.isNullAt(i)) {
            to.putNull(at);
        } else if (type instanceof DecimalType) {
            DecimalType of = (DecimalType) type;
            to.putDecimal(at, row.getDecimal(i, of.precision(), of.scale()), of.precision());
        } else {
            switch (type.typeName()) {
                case "boolean": to.putBoolean(at, row.getBoolean(i)); break;
                case "byte": to.putByte(at, row.getByte(i)); break;
                case "short": to.putShort(at, row.getShort(i)); break;
                case "integer":
                case "date": to.putInt(at, row.getInt(i)); break;
                case "float": to.putFloat(at, row.getFloat(i)); break;
                case "double": to.putDouble(at, row.getDouble(i)); break;
                case "string": to.putByteArray(at, row.getUTF8String(i).getBytes()); break;
                case "binary": to.putByteArray(at, row.getBinary(i)); break;
                default: to.putLong(at, row.getLong(i));
            }
        }
    }

    @Override
    public ColumnarBatch get() {
        return shown;
    }

    @Override
    public void close() throws IOException {
        splits.close();
    }
}
