package paimark.library;

import java.io.IOException;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;

/** The rows of a task, one by one. */
final class PartitionRows implements PartitionReader<InternalRow> {
    private final SplitRows splits;
    private final RowValues.Row row;
    private RecordReader.RecordIterator<org.apache.paimon.data.InternalRow> batch;

    PartitionRows(SplitRows splits, RowType type) {
        this.splits = splits;
        row = new RowValues.Row(type);
    }

    @Override
    public boolean next() {
        while (true) {
            if (batch == null) {
                batch = splits.nextBatch();
                if (batch == null) {
                    return false;
                }
            }
            try {
                org.apache.paimon.data.InternalRow found = batch.next();
                if (found != null) {
                    row.of(found);
                    return true;
                }
            } catch (IOException | RuntimeException error) {
                throw splits.told(error);
            }
            batch = null;
        }
    }

    @Override
    public InternalRow get() {
        return row;
    }

    @Override
    public void close() throws IOException {
        splits.close();
    }
}
