package paimark.library;

import org.apache.paimon.reader.FileRecordIterator;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.SpecialFields;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.unsafe.types.UTF8String;

/** The rows of a task with the columns of {@link ChangeColumns}. */
final class PlacedRows extends PartitionRows {
    private final boolean tellsPlace;
    /** Null: a row is in one file. */
    private final RowGroups groups;
    private final int id;
    private final GenericInternalRow place = new GenericInternalRow(new Object[] {null, null, true});
    private final InternalRow whole;
    private final ProjectingInternalRow view;

    PlacedRows(SplitRows splits, ChangeColumns columns, RowGroups groups) {
        super(splits, columns.read);
        this.groups = groups;
        id = columns.read.getFieldIndex(SpecialFields.ROW_ID.name());
        tellsPlace = columns.tellsPlace();
        whole = new JoinedRow(row, place);
        view = columns.view();
    }

    @Override
    void found(RecordReader.RecordIterator<org.apache.paimon.data.InternalRow> batch) {
        if (tellsPlace && groups != null) {
            place.update(0, id < 0 ? null : UTF8String.fromString(groups.of(row.getLong(id))));
        } else if (tellsPlace) {
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
}
