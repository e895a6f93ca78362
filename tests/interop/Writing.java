import java.util.List;
import java.util.Map;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.manifest.BucketEntry;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.PostponeUtils;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.utils.JsonSerdeUtil;

/** Tables and commits as the jobs of stock Paimon make them, for every way in which a table has buckets. */
final class Writing {
    private Writing() {}

    /** {@code columns} are pairs of a name and a type in SQL, or in the JSON of schemas. */
    static Schema schema(
            List<List<String>> columns, List<String> keys, List<String> partitions, Map<String, String> options) {
        Schema.Builder builder = Schema.newBuilder().primaryKey(keys).partitionKeys(partitions).options(options);
        for (List<String> column : columns) {
            String type = column.get(1);
            builder.column(column.get(0), type.startsWith("{")
                    ? JsonSerdeUtil.fromJson(type, DataType.class) : DataTypeJsonParser.parseAtomicTypeSQLString(type));
        }
        return builder.build();
    }

    /**
     * Commits rows. In a table with postponed buckets they go to their real buckets, as a batch job writes them; with
     * {@code postpones} to the postponed bucket, as a stream does: then they are invisible until a compaction. With
     * {@code joins} the changelogs of all buckets are one file.
     */
    static void put(
            FileStoreTable table,
            List<List<Object>> rows,
            List<String> kinds,
            boolean postpones,
            boolean joins,
            IOManager temporaryFiles)
            throws Exception {
        FileStoreTable written = postpones ? table : withBuckets(table);
        FileStoreTable committed = postpones ? table : forCommit(table);
        Buckets dynamic = written.bucketMode() == BucketMode.HASH_DYNAMIC ? new Buckets(written) : null;
        try (BatchTableWrite writer = written.newBatchWriteBuilder().newWrite();
                BatchTableCommit commit = committed.newBatchWriteBuilder().newCommit()) {
            writer.withIOManager(temporaryFiles);
            for (int index = 0; index < rows.size(); index++) {
                GenericRow row = Values.row(rows.get(index), written.rowType());
                row.setRowKind(RowKind.fromShortString(kinds.get(index)));
                switch (written.bucketMode()) {
                    case HASH_DYNAMIC:
                        writer.write(row, dynamic.bucket(row));
                        break;
                    case KEY_DYNAMIC:
                        // If the key was in another partition, the caller deletes it there.
                        writer.write(row, 0);
                        break;
                    default:
                        writer.write(row);
                }
            }
            List<CommitMessage> messages = writer.prepareCommit();
            commit.commit(joins ? Changelogs.join(written, messages) : messages);
        }
    }

    /** Full compaction of every bucket; postponed rows stay postponed. */
    static void compact(FileStoreTable table, IOManager temporaryFiles) throws Exception {
        FileStoreTable written = withBuckets(table).copy(Map.of("write-only", "false"));
        try (BatchTableWrite writer = written.newBatchWriteBuilder().newWrite();
                BatchTableCommit commit = forCommit(table).newBatchWriteBuilder().newCommit()) {
            writer.withIOManager(temporaryFiles);
            for (BucketEntry entry : table.newSnapshotReader().bucketEntries()) {
                if (entry.bucket() >= 0) {
                    writer.compact(entry.partition(), entry.bucket(), true);
                }
            }
            commit.commit(writer.prepareCommit());
        }
    }

    private static FileStoreTable withBuckets(FileStoreTable table) {
        return isPostponing(table) ? PostponeUtils.tableForFixBucketWrite(table) : table;
    }

    private static FileStoreTable forCommit(FileStoreTable table) {
        return isPostponing(table) ? PostponeUtils.tableForCommit(table) : table;
    }

    private static boolean isPostponing(FileStoreTable table) {
        return table.coreOptions().bucket() == BucketMode.POSTPONE_BUCKET;
    }
}
