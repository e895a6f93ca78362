package paimark.library;

import java.io.IOException;
import org.apache.paimon.reader.FileRecordIterator;
import org.apache.paimon.reader.RecordReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.unsafe.types.UTF8String;

/** The rows of a task with the columns of {@link ChangeColumns}. */
final class PlacedRows implements PartitionReader<InternalRow> {
    private final SplitRows splits;
    private final RowValues.Row row;
    private final boolean tellsPlace;
    private final GenericInternalRow place = new GenericInternalRow(new Object[] {null, null, true});
    private final InternalRow whole;
    private final ProjectingInternalRow view;
    private RecordReader.RecordIterator<org.apache.paimon.data.InternalRow> batch;

    PlacedRows(SplitRows splits, ChangeColumns columns) {
        this.splits = splits;
        row = new RowValues.Row(columns.read);
        tellsPlace = columns.tellsPlace();
        whole = new JoinedRow(row, place);
        view = columns.view();
    }

    @Override
    public boolean next() {
        while (batch != null || (batch = splits.nextBatch()) != null) {
            try {
                org.apache.paimon.data.InternalRow found = batch.next();
                if (found != null) {
                    show(found);
                    return true;
                }
            } catch (IOException | RuntimeException error) {
                throw splits.told(error);
            }
            batch = null;
        }
        return false;
    }

    private void show(org.apache.paimon.data.InternalRow found) {
        row.of(found);
        if (tellsPlace) {
            FileRecordIterator<?> at = (FileRecordIterator<?>) batch;
            place.update(0, UTF8String.fromString(at.filePath().getName()));
            place.update(1, at.returnedPosition());
        }
        view.project(whole);
    }

    @Override
    public InternalRow get() {
        return view;
    }

    @Override
    public void close() throws IOException {
        splits.close();
    }
}
