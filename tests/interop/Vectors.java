import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.deletionvectors.Bitmap64DeletionVector;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.append.AppendDeleteFileMaintainer;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.source.DataSplit;

/** Deletions from tables without keys and buckets, as engines with {@code DELETE} make them. */
final class Vectors {
    private Vectors() {}

    /** Commit messages that delete the rows with these numbers from every data file that has them. */
    static List<CommitMessage> deletions(FileStoreTable table, List<Integer> numbers) {
        List<CommitMessage> messages = new ArrayList<>();
        for (DataSplit split : table.newSnapshotReader().read().dataSplits()) {
            AppendDeleteFileMaintainer vectors = BaseAppendDeleteFileMaintainer.forUnawareAppend(
                    table.store().newIndexFileHandler(),
                    table.snapshotManager().latestSnapshot(),
                    split.partition());
            for (DataFileMeta file : split.dataFiles()) {
                vectors.notifyNewDeletionVector(file.fileName(), vector(table, file, numbers));
            }
            messages.add(message(split, vectors.persist()));
        }
        return messages;
    }

    private static DeletionVector vector(FileStoreTable table, DataFileMeta file, List<Integer> numbers) {
        boolean isWide = table.coreOptions().deletionVectorBitmap64();
        DeletionVector vector = isWide ? new Bitmap64DeletionVector() : new BitmapDeletionVector();
        for (int number : numbers) {
            if (number < file.rowCount()) {
                vector.delete(number);
            }
        }
        return vector;
    }

    private static CommitMessage message(DataSplit split, List<IndexManifestEntry> entries) {
        List<IndexFileMeta> added = new ArrayList<>();
        List<IndexFileMeta> deleted = new ArrayList<>();
        for (IndexManifestEntry entry : entries) {
            (entry.kind() == FileKind.ADD ? added : deleted).add(entry.indexFile());
        }
        DataIncrement increment = new DataIncrement(List.of(), List.of(), List.of(), added, deleted);
        return new CommitMessageImpl(
                split.partition(), split.bucket(), split.totalBuckets(), increment, CompactIncrement.emptyIncrement());
    }
}
