package paimark.library;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.partition.PartitionPredicate;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.InternalRowUtils;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;

/**
 * The partitions with certain values in some of their columns, or in all.
 *
 * <p>A scan asks from several threads at once, as it reads manifests side by side: so nothing here may be written to.
 */
final class NamedPartitions implements PartitionPredicate {
    private static final long serialVersionUID = 1L;

    private final RowType partitions;
    private final int[] fields;
    private final Set<List<Object>> values = new HashSet<>();

    /** {@code rows} have some columns of {@code partitions}, by name. */
    NamedPartitions(RowType partitions, Dataset<Row> rows) {
        this.partitions = partitions;
        List<String> columns = Arrays.asList(rows.schema().fieldNames());
        fields = columns.stream().mapToInt(partitions::getFieldIndex).toArray();
        RowType named = partitions.project(columns);
        InternalRowSerializer serializer = new InternalRowSerializer(named);
        RowsForPaimon.OfRow row = new RowsForPaimon.OfRow(named, null);
        int[] all = IntStream.range(0, fields.length).toArray();
        for (org.apache.spark.sql.catalyst.InternalRow each : rows.queryExecution().executedPlan().executeCollect()) {
            values.add(valuesOf(serializer.toBinaryRow(row.of(each)).copy(), all, named));
        }
    }

    @Override
    public boolean test(BinaryRow partition) {
        return values.contains(valuesOf(partition, fields, partitions));
    }

    private static List<Object> valuesOf(BinaryRow row, int[] fields, RowType type) {
        List<Object> found = new ArrayList<>();
        for (int field : fields) {
            Object value = InternalRowUtils.get(row, field, type.getTypeAt(field));
            found.add(value instanceof byte[] bytes ? ByteBuffer.wrap(bytes) : value);
        }
        return found;
    }

    /** Whether a manifest may name such partitions: what it says of the smallest and largest is not looked at. */
    @Override
    public boolean test(long rows, InternalRow least, InternalRow most, InternalArray nulls) {
        return true;
    }
}
