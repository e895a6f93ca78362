package paimark.library;

import java.io.Serializable;
import java.util.Map;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.bucket.BucketFunction;
import org.apache.paimon.codegen.CodeGenUtils;
import org.apache.paimon.codegen.Projection;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.PostponeUtils;
import org.apache.paimon.table.sink.RowPartitionKeyExtractor;

/** Real buckets for rows of a table that postpones them: as many as the partition has, or a number for new ones. */
final class PostponedBuckets implements Serializable {
    private static final long serialVersionUID = 1L;

    private final FileStoreTable table;
    private final Map<BinaryRow, Integer> known;
    private final int others;
    private transient RowPartitionKeyExtractor keys;
    private transient BucketFunction function;
    private transient Projection bucketKey;

    PostponedBuckets(FileStoreTable table, int parallelism) {
        this.table = table;
        known = PostponeUtils.getKnownNumBuckets(table);
        others = Math.min(parallelism, table.coreOptions().postponeBatchWriteFixedBucketMaxParallelism());
    }

    private PostponedBuckets(int others, FileStoreTable table) {
        this.table = table;
        known = PostponeUtils.getKnownNumBuckets(table);
        this.others = others;
    }

    /** For a compaction: new partitions get the number that the table names for it, if it names one. */
    static PostponedBuckets forCompaction(FileStoreTable table, int parallelism) {
        boolean isNamed = table.options().containsKey(CoreOptions.POSTPONE_DEFAULT_BUCKET_NUM.key());
        return new PostponedBuckets(isNamed ? table.coreOptions().postponeDefaultBucketNum() : parallelism, table);
    }

    int number(BinaryRow partition) {
        return known.getOrDefault(partition, others);
    }

    int bucket(InternalRow row) {
        if (keys == null) {
            TableSchema schema = table.schema();
            keys = new RowPartitionKeyExtractor(schema);
            function = BucketFunction.create(table.coreOptions(), schema.logicalBucketKeyType());
            bucketKey = CodeGenUtils.newProjection(schema.logicalRowType(), schema.projection(schema.bucketKeys()));
        }
        return function.bucket(bucketKey.apply(row), number(keys.partition(row)));
    }
}
