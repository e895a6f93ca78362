package paimark.library;

import java.io.IOException;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;

/** The rows of a task, one by one. */
class PartitionRows implements PartitionReader<InternalRow> {
    final RowValues.Row row;
    private final SplitRows splits;
    private RecordReader.RecordIterator<org.apache.paimon.data.InternalRow> batch;

    PartitionRows(SplitRows splits, RowType type) {
        this.splits = splits;
        row = new RowValues.Row(type);
    }

    @Override
    public boolean next() {
        while (batch != null || (batch = splits.nextBatch()) != null) {
            try {
                org.apache.paimon.data.InternalRow found = batch.next();
                if (found != null) {
                    row.of(found);
                    found(batch);
                    return true;
                }
            } catch (IOException | RuntimeException error) {
                throw splits.told(error);
            }
            batch = null;
        }
        return false;
    }

    /** The row is the last one of that batch that was read. */
    void found(RecordReader.RecordIterator<org.apache.paimon.data.InternalRow> batch) {}

    @Override
    public InternalRow get() {
        return row;
    }

    @Override
    public void close() throws IOException {
        splits.close();
    }
}
