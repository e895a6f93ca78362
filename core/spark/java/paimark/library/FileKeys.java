package paimark.library;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

/** The keys of the rows in single files, as far as equal values have equal bytes: deleted ones, too. */
final class FileKeys {
    /** A later file of more bytes is not read: a job that commits all the time writes small ones. */
    private static final long MOST_BYTES = 32L << 20;

    private final FileStoreTable table;

    /** The columns of the key that are compared. Keys that differ in other columns only are taken for the same. */
    final RowType compared;

    FileKeys(FileStoreTable table) {
        this.table = table;
        compared = table.rowType().project(table.primaryKeys().stream()
                .filter(name -> isComparable(table.rowType().getField(name).type()))
                .collect(Collectors.toList()));
    }

    private static boolean isComparable(DataType type) {
        switch (type.getTypeRoot()) {
            case TINYINT:
            case SMALLINT:
            case INTEGER:
            case BIGINT:
            case VARCHAR:
            case DATE:
                return true;
            default:
                return false;
        }
    }

    /** Whether the keys of a file can be told: an older definition may have other names for the columns. */
    boolean canTell(DataFileMeta file) {
        return compared.getFieldCount() > 0
                && file.schemaId() == table.schema().id()
                && file.fileSize() <= MOST_BYTES;
    }

    /** Whether any key of the file passes, also that of a row that was deleted. */
    boolean any(BinaryRow partition, int bucket, Integer buckets, DataFileMeta file, Predicate<BinaryRow> test)
            throws IOException {
        DataSplit split = DataSplit.builder()
                .withSnapshot(1)
                .withPartition(partition)
                .withBucket(bucket)
                .withTotalBuckets(buckets)
                .withBucketPath(table.store().pathFactory().bucketPath(partition, bucket).toString())
                .withDataFiles(new ArrayList<>(List.of(file)))
                .rawConvertible(false)
                .build();
        InternalRowSerializer serializer = new InternalRowSerializer(compared);
        RecordReader<InternalRow> reader = table.newRead().forceKeepDelete().withReadType(compared).createReader(split);
        try (RecordReaderIterator<InternalRow> rows = new RecordReaderIterator<>(reader)) {
            while (rows.hasNext()) {
                BinaryRow key = serializer.toBinaryRow(rows.next());
                // Its bytes have the kind, too.
                key.setRowKind(RowKind.INSERT);
                if (test.test(key)) {
                    return true;
                }
            }
            return false;
        } catch (IOException | RuntimeException error) {
            throw error;
        } catch (Exception error) {
            throw new IOException(error);
        }
    }
}
