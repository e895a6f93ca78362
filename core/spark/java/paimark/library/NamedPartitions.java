package paimark.library;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.partition.PartitionPredicate;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.InternalRowUtils;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;

/** The partitions with certain values in some of their columns, or in all. */
final class NamedPartitions implements PartitionPredicate {
    private static final long serialVersionUID = 1L;

    private final RowType partitions;
    private final int[] fields;
    private final InternalRowSerializer serializer;
    private final Set<BinaryRow> values = new HashSet<>();

    /** {@code rows} have some columns of {@code partitions}, by name. */
    NamedPartitions(RowType partitions, Dataset<Row> rows) {
        this.partitions = partitions;
        List<String> columns = Arrays.asList(rows.schema().fieldNames());
        fields = columns.stream().mapToInt(partitions::getFieldIndex).toArray();
        RowType named = partitions.project(columns);
        serializer = new InternalRowSerializer(named);
        RowsForPaimon.OfRow row = new RowsForPaimon.OfRow(named, null);
        for (org.apache.spark.sql.catalyst.InternalRow each : rows.queryExecution().executedPlan().executeCollect()) {
            values.add(serializer.toBinaryRow(row.of(each)).copy());
        }
    }

    @Override
    public boolean test(BinaryRow partition) {
        GenericRow row = new GenericRow(fields.length);
        for (int i = 0; i < fields.length; i++) {
            row.setField(i, InternalRowUtils.get(partition, fields[i], partitions.getTypeAt(fields[i])));
        }
        return values.contains(serializer.toBinaryRow(row));
    }

    /** Whether a manifest may name such partitions: what it says of the smallest and largest is not looked at. */
    @Override
    public boolean test(long rows, InternalRow least, InternalRow most, InternalArray nulls) {
        return true;
    }
}
