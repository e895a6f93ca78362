import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.query.LocalTableQuery;
import org.apache.paimon.table.sink.RowPartitionKeyExtractor;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;

/** The partition and bucket where stock Paimon writes a row and looks it up. */
final class Buckets {
    private final FileStoreTable table;
    private final RowPartitionKeyExtractor keys;
    private final TableWriteImpl<?> fixed;
    private final HashBucketAssigner dynamic;

    Buckets(FileStoreTable table) {
        this.table = table;
        this.keys = new RowPartitionKeyExtractor(table.schema());
        this.fixed = table.newWrite("judge");
        this.dynamic = table.bucketMode() != BucketMode.HASH_DYNAMIC
                ? null
                : new HashBucketAssigner(
                        table.snapshotManager(),
                        "judge",
                        table.store().newIndexFileHandler(),
                        1,
                        1,
                        0,
                        table.coreOptions().dynamicBucketTargetRowNum(),
                        table.coreOptions().dynamicBucketMaxBuckets());
    }

    int bucket(InternalRow row) {
        return dynamic == null
                ? fixed.getBucket(row)
                : dynamic.assign(keys.partition(row), keys.trimmedPrimaryKey(row).hashCode());
    }

    /** The rows that are in another partition or bucket than the one where stock Paimon would write them. */
    List<Object> misplaced() throws Exception {
        List<Object> rows = new ArrayList<>();
        for (Split split : table.newReadBuilder().newScan().plan().splits()) {
            DataSplit place = (DataSplit) split;
            try (RecordReader<InternalRow> reader = table.newReadBuilder().newRead().createReader(split)) {
                reader.forEachRemaining(
                        row -> {
                            if (bucket(row) != place.bucket() || !keys.partition(row).equals(place.partition())) {
                                rows.add(Values.fields(row, table.rowType()));
                            }
                        });
            }
        }
        return rows;
    }

    /** For each row, the row that a look-up by its key finds, or null. */
    List<Object> lookUp(List<List<Object>> wanted, IOManager temporaryFiles) throws Exception {
        List<Object> found = new ArrayList<>();
        try (LocalTableQuery query = table.newLocalTableQuery().withIOManager(temporaryFiles)) {
            filesByPlace().forEach(
                    (partition, buckets) ->
                            buckets.forEach(
                                    (bucket, files) ->
                                            query.refreshFiles(partition, bucket, new ArrayList<>(), files)));
            for (List<Object> fields : wanted) {
                InternalRow row = Values.row(fields, table.rowType());
                InternalRow there =
                        query.lookup(keys.partition(row).copy(), bucket(row), keys.trimmedPrimaryKey(row));
                found.add(there == null ? null : Values.fields(there, table.rowType()));
            }
        }
        return found;
    }

    private Map<BinaryRow, Map<Integer, List<DataFileMeta>>> filesByPlace() {
        Map<BinaryRow, Map<Integer, List<DataFileMeta>>> files = new LinkedHashMap<>();
        for (Split split : table.newReadBuilder().newScan().plan().splits()) {
            DataSplit place = (DataSplit) split;
            files.computeIfAbsent(place.partition(), key -> new LinkedHashMap<>())
                    .computeIfAbsent(place.bucket(), key -> new ArrayList<>())
                    .addAll(place.dataFiles());
        }
        return files;
    }
}
