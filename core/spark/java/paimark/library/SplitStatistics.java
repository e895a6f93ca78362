package paimark.library;

import java.util.List;
import java.util.OptionalLong;
import org.apache.paimon.table.source.Split;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.types.StructType;

/** What Spark is told of the size of a scan: as many rows as its files have, of the columns that it shows. */
final class SplitStatistics implements Statistics {
    private final long rows;
    private final long bytes;

    SplitStatistics(List<Split> splits, StructType shown) {
        rows = splits.stream().mapToLong(Split::rowCount).sum();
        bytes = rows * Math.max(shown.defaultSize(), 1);
    }

    @Override
    public OptionalLong sizeInBytes() {
        return OptionalLong.of(bytes);
    }

    @Override
    public OptionalLong numRows() {
        return OptionalLong.of(rows);
    }
}
