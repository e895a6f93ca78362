package paimark.library;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.ChainSplit;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.DeletionFile;
import org.apache.paimon.table.source.Split;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.internal.SQLConf;

/** The splits that one task reads. */
record PackedSplits(ArrayList<Split> splits) implements InputPartition {
    /** Packs splits by the sizes that Spark has for its own files. Files that need no merging come apart. */
    static List<PackedSplits> of(List<Split> splits, FileStoreTable table) {
        List<Split> parts = new ArrayList<>();
        for (Split split : splits) {
            addParts(split, parts, table.coreOptions().dataEvolutionEnabled());
        }
        parts.sort(Comparator.comparingLong(PackedSplits::cost).reversed());
        long total = parts.stream().mapToLong(PackedSplits::cost).sum();
        int cores = Math.max(1, SparkContext.getOrCreate().defaultParallelism());
        long share = Math.max(SQLConf.get().filesOpenCostInBytes(), total / cores);
        long most = Math.min(SQLConf.get().filesMaxPartitionBytes(), share);
        List<PackedSplits> packed = new ArrayList<>();
        ArrayList<Split> together = new ArrayList<>();
        long held = 0;
        for (Split part : parts) {
            if (!together.isEmpty() && held + cost(part) > most) {
                packed.add(new PackedSplits(together));
                together = new ArrayList<>();
                held = 0;
            }
            together.add(part);
            held += cost(part);
        }
        if (!together.isEmpty()) {
            packed.add(new PackedSplits(together));
        }
        return packed;
    }

    /** One split for each file, where files need no merging. */
    static List<Split> ofFiles(List<Split> splits) {
        List<Split> parts = new ArrayList<>();
        splits.forEach(split -> addParts(split, parts, false));
        return parts;
    }

    private static void addParts(Split given, List<Split> parts, boolean areFilesOneRow) {
        // Subclasses say more than their files: of which branch they are.
        boolean isPlain = given.getClass() == DataSplit.class;
        DataSplit split = isPlain ? (DataSplit) given : null;
        if (split == null || !split.rawConvertible() || split.dataFiles().size() < 2 || areFilesOneRow) {
            parts.add(given);
            return;
        }
        List<DeletionFile> deletions = split.deletionFiles().orElse(null);
        for (int i = 0; i < split.dataFiles().size(); i++) {
            DataSplit.Builder one = DataSplit.builder()
                    .withSnapshot(split.snapshotId())
                    .withPartition(split.partition())
                    .withBucket(split.bucket())
                    .withBucketPath(split.bucketPath())
                    .withTotalBuckets(split.totalBuckets())
                    .withDataFiles(new ArrayList<>(List.of(split.dataFiles().get(i))))
                    .rawConvertible(true)
                    .isStreaming(false);
            if (deletions != null) {
                one.withDataDeletionFiles(new ArrayList<>(Arrays.asList(deletions.get(i))));
            }
            parts.add(one.build());
        }
    }

    static List<DataFileMeta> filesOf(Split split) {
        if (split instanceof DataSplit) {
            return ((DataSplit) split).dataFiles();
        }
        return split instanceof ChainSplit ? ((ChainSplit) split).dataFiles() : List.of();
    }

    static long bytesOf(Split split) {
        return filesOf(split).stream().mapToLong(DataFileMeta::fileSize).sum();
    }

    private static long cost(Split split) {
        return bytesOf(split) + SQLConf.get().filesOpenCostInBytes() * Math.max(1, filesOf(split).size());
    }
}
