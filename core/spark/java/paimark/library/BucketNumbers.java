package paimark.library;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.FixedBucketRowKeyExtractor;
import org.apache.paimon.types.RowType;
import org.apache.spark.sql.catalyst.InternalRow;

/** The number of a row's bucket, for Spark to bring the rows of a bucket together. One for each task. */
public final class BucketNumbers implements Serializable {
    private static final long serialVersionUID = 1L;

    private final FileStoreTable table;
    private final PostponedBuckets postponed;
    private final List<String> columns;
    private transient RowsForPaimon.OfRow row;
    private transient FixedBucketRowKeyExtractor fixed;

    BucketNumbers(FileStoreTable table, PostponedBuckets postponed) {
        this.table = table;
        this.postponed = postponed;
        Set<String> needed = new LinkedHashSet<>(table.partitionKeys());
        needed.addAll(table.schema().bucketKeys());
        columns = new ArrayList<>(needed);
    }

    /** The columns of the rows that {@link #bucket} gets. */
    List<String> columns() {
        return columns;
    }

    public int bucket(InternalRow given) {
        if (row == null) {
            RowType type = table.rowType();
            row = new RowsForPaimon.OfRow(type, RowWriter.places(type, columns));
            fixed = postponed == null ? new FixedBucketRowKeyExtractor(table.schema()) : null;
        }
        row.of(given);
        if (postponed != null) {
            return postponed.bucket(row);
        }
        fixed.setRecord(row);
        return fixed.bucket();
    }
}
