package paimark.library;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.index.IndexPathFactory;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataFilePathFactory;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.manifest.ManifestList;
import org.apache.paimon.operation.FileStoreScan;
import org.apache.paimon.partition.PartitionPredicate;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.utils.FileStorePathFactory;
import org.apache.paimon.utils.Pair;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The files of commits: what a commit that was not made leaves, and what an overwrite takes away. */
final class CommitFiles {
    private static final Logger LOG = LoggerFactory.getLogger(CommitFiles.class);

    private CommitFiles() {}

    /** Delete what tasks wrote, of a commit that was not made and never will be. */
    static void deleteData(FileStoreTable table, List<CommitMessage> messages) {
        FileStorePathFactory paths = table.store().pathFactory();
        for (CommitMessage each : messages) {
            CommitMessageImpl message = (CommitMessageImpl) each;
            DataFilePathFactory data = paths.createDataFilePathFactory(message.partition(), message.bucket());
            DataIncrement made = message.newFilesIncrement();
            CompactIncrement compacted = message.compactIncrement();
            // A compaction that only raises a file's level tells that very file again: the table needs it.
            Set<String> present = names(compacted.compactBefore());
            present.removeAll(names(made.newFiles()));
            for (List<DataFileMeta> files : Arrays.asList(made.newFiles(), made.changelogFiles(),
                    compacted.compactAfter(), compacted.changelogFiles())) {
                for (DataFileMeta file : files) {
                    if (!present.contains(file.fileName())) {
                        file.collectFiles(data).forEach(table.fileIO()::deleteQuietly);
                    }
                }
            }
            // The library's own way to abort leaves these.
            IndexPathFactory indexes = paths.indexFileFactory(message.partition(), message.bucket());
            for (List<IndexFileMeta> files : Arrays.asList(made.newIndexFiles(), compacted.newIndexFiles())) {
                files.forEach(file -> table.fileIO().deleteQuietly(indexes.toPath(file)));
            }
        }
    }

    private static Set<String> names(List<DataFileMeta> of) {
        Set<String> found = new HashSet<>();
        of.forEach(file -> found.add(file.fileName()));
        return found;
    }

    /** The addresses of the data files that tasks wrote. */
    static List<String> addresses(FileStoreTable table, List<CommitMessage> messages) {
        FileStorePathFactory paths = table.store().pathFactory();
        List<String> found = new ArrayList<>();
        for (CommitMessage each : messages) {
            CommitMessageImpl message = (CommitMessageImpl) each;
            DataFilePathFactory data = paths.createDataFilePathFactory(message.partition(), message.bucket());
            message.newFilesIncrement().newFiles().forEach(file -> found.add(data.toPath(file).toString()));
            message.compactIncrement().compactAfter().forEach(file -> found.add(data.toPath(file).toString()));
        }
        return found;
    }

    /**
     * Delete the manifests of a snapshot that was not published, except those that it shares with the one before.
     *
     * <p>That one may have expired meanwhile: then nobody knows which those are, and all of them stay.
     */
    static void deleteManifests(FileStoreTable table, Snapshot before, Snapshot refused) {
        FileStorePathFactory paths = table.store().pathFactory();
        List<String> own = Arrays.asList(refused.deltaManifestList(), refused.changelogManifestList());
        Set<String> made = manifests(table, own);
        try {
            Set<String> base = manifests(table, List.of(refused.baseManifestList()));
            if (before != null) {
                base.removeAll(manifests(table, lists(before)));
            }
            made.addAll(base);
        } catch (RuntimeException expired) {
            LOG.info("Merged manifests of snapshot {} that was not published stay", refused.id(), expired);
        }
        for (String name : made) {
            table.fileIO().deleteQuietly(paths.toManifestFilePath(name));
        }
        for (String list : lists(refused)) {
            if (list != null) {
                table.fileIO().deleteQuietly(paths.toManifestListPath(list));
            }
        }
        String statistics = refused.statistics();
        if (statistics != null && (before == null || !statistics.equals(before.statistics()))) {
            table.fileIO().deleteQuietly(paths.statsFileFactory().toPath(statistics));
        }
        String index = refused.indexManifest();
        if (index != null && (before == null || !index.equals(before.indexManifest()))) {
            table.fileIO().deleteQuietly(paths.indexManifestFileFactory().toPath(index));
        }
    }

    private static List<String> lists(Snapshot of) {
        return Arrays.asList(of.baseManifestList(), of.deltaManifestList(), of.changelogManifestList());
    }

    private static Set<String> manifests(FileStoreTable table, List<String> lists) {
        ManifestList reader = table.store().manifestListFactory().create();
        Set<String> names = new HashSet<>();
        for (String list : lists) {
            if (list != null) {
                reader.read(list).forEach(file -> names.add(file.fileName()));
            }
        }
        return names;
    }

    /** Messages that delete all files of these partitions in a snapshot, and their indexes. */
    static List<CommitMessage> deletions(FileStoreTable table, Snapshot of, PartitionPredicate partitions) {
        Map<Pair<BinaryRow, Integer>, Deleted> deleted = new HashMap<>();
        FileStoreScan scan = table.store().newScan().withSnapshot(of).withPartitionFilter(partitions);
        for (ManifestEntry entry : scan.plan().files()) {
            Deleted bucket = deleted.computeIfAbsent(Pair.of(entry.partition(), entry.bucket()), key -> new Deleted());
            bucket.buckets = entry.totalBuckets();
            bucket.files.add(entry.file());
        }
        if (of.indexManifest() != null) {
            for (IndexManifestEntry entry : table.store().newIndexFileHandler().readManifest(of.indexManifest())) {
                if (partitions.test(entry.partition())) {
                    deleted.computeIfAbsent(Pair.of(entry.partition(), entry.bucket()), key -> new Deleted())
                            .indexes.add(entry.indexFile());
                }
            }
        }
        List<CommitMessage> messages = new ArrayList<>();
        deleted.forEach((place, of2) -> messages.add(new CommitMessageImpl(place.getLeft(), place.getRight(), of2.buckets,
                new DataIncrement(List.of(), of2.files, List.of(), List.of(), of2.indexes),
                CompactIncrement.emptyIncrement())));
        return messages;
    }

    /** Messages that delete these data files of a snapshot. */
    static List<CommitMessage> deletions(FileStoreTable table, Snapshot of, Set<String> names) {
        List<CommitMessage> messages = new ArrayList<>();
        Set<String> missing = new HashSet<>(names);
        for (ManifestEntry entry : table.store().newScan().withSnapshot(of).withDataFileNameFilter(names::contains)
                .plan().files()) {
            missing.remove(entry.file().fileName());
            messages.add(new CommitMessageImpl(entry.partition(), entry.bucket(), entry.totalBuckets(),
                    new DataIncrement(List.of(), List.of(entry.file()), List.of()), CompactIncrement.emptyIncrement()));
        }
        if (!missing.isEmpty()) {
            throw new IllegalStateException("Snapshot " + of.id() + " has no file " + missing);
        }
        return messages;
    }

    static CommitMessage withoutChangelog(CommitMessageImpl of) {
        DataIncrement made = of.newFilesIncrement();
        return new CommitMessageImpl(of.partition(), of.bucket(), of.totalBuckets(),
                new DataIncrement(made.newFiles(), made.deletedFiles(), List.of(), made.newIndexFiles(),
                        made.deletedIndexFiles()),
                of.compactIncrement());
    }

    private static final class Deleted {
        private Integer buckets;
        private final List<DataFileMeta> files = new ArrayList<>();
        private final List<IndexFileMeta> indexes = new ArrayList<>();
    }
}
