import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.Path;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.utils.IOUtils;

/** Joins the changelog files of one partition before a commit, as a job of Flink does ({@code ChangelogCompactTask}). */
final class Changelogs {
    private Changelogs() {}

    static List<CommitMessage> join(FileStoreTable table, List<CommitMessage> messages) throws Exception {
        FileIO io = table.fileIO();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        List<CommitMessage> joined = new ArrayList<>();
        String name = null;
        Path file = null;
        for (CommitMessage each : messages) {
            CommitMessageImpl message = (CommitMessageImpl) each;
            List<DataFileMeta> renamed = new ArrayList<>();
            for (DataFileMeta meta : message.newFilesIncrement().changelogFiles()) {
                Path path =
                        table.store()
                                .pathFactory()
                                .createDataFilePathFactory(message.partition(), message.bucket())
                                .toPath(meta);
                byte[] read = IOUtils.readFully(io.newInputStream(path), true);
                io.deleteQuietly(path);
                String extension = ".cc-" + meta.fileFormat();
                int offset = bytes.size();
                bytes.write(read);
                if (name == null) {
                    name = "compacted-changelog-" + UUID.randomUUID() + "$" + message.bucket() + "-" + read.length;
                    file = new Path(path.getParent(), name + extension);
                }
                String range = offset == 0 ? name : name + "-" + offset + "-" + read.length;
                renamed.add(meta.rename(range + extension));
            }
            DataIncrement increment = message.newFilesIncrement();
            joined.add(
                    new CommitMessageImpl(
                            message.partition(),
                            message.bucket(),
                            message.totalBuckets(),
                            new DataIncrement(increment.newFiles(), increment.deletedFiles(), renamed),
                            message.compactIncrement()));
        }
        try (java.io.OutputStream out = io.newOutputStream(file, false)) {
            out.write(bytes.toByteArray());
        }
        return joined;
    }
}
