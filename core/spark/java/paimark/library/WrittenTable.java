package paimark.library;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.options.Options;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.PostponeUtils;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataTypeFamily;

/** A branch of a table to which rows are written: always without compaction, and without expiry. */
final class WrittenTable {
    private final Configuration hadoop;
    private final FileIO files;
    private final Path place;
    private final String branch;
    private final TableSchema schema;
    private final Replacing replacing;
    private final boolean isDynamic;

    /**
     * {@code schema} is JSON; {@code branch} is null for the table's directory itself. {@code isDynamic}: an
     * overwrite replaces the partitions that rows come for.
     */
    WrittenTable(Configuration hadoop, String address, String branch, String schema, Replacing replacing,
            boolean isDynamic) {
        this.hadoop = hadoop;
        place = new Path(address);
        files = StoreFiles.reached(place, hadoop);
        this.branch = branch;
        this.schema = withoutDefaults(TableSchema.fromJson(schema));
        this.replacing = replacing;
        this.isDynamic = isDynamic;
    }

    /** An INSERT fills in what its statement leaves out; a NULL that is written stays NULL. */
    private static TableSchema withoutDefaults(TableSchema of) {
        List<DataField> fields = of.fields().stream()
                .map(field -> new DataField(field.id(), field.name(), field.type(), field.description()))
                .collect(Collectors.toList());
        return new TableSchema(of.version(), of.id(), fields, of.highestFieldId(), of.partitionKeys(), of.primaryKeys(),
                of.options(), of.comment(), of.timeMillis());
    }

    FileStoreTable at(GivenState state) {
        return at(place, state, Map.of());
    }

    /**
     * The table for a commit. In a chain only the snapshot branch's are checked by the library: beside one to the delta
     * branch it would commit to the snapshot branch, too, which is a commit of its own here.
     */
    FileStoreTable forCommit(GivenState state) {
        CoreOptions named = options();
        boolean isChecked = branch != null && branch.equals(named.scanFallbackSnapshotBranch())
                && named.scanFallbackDeltaBranch() != null;
        Map<String, String> more = isChecked ? Map.of() : Map.of(CoreOptions.CHAIN_TABLE_ENABLED.key(), "false");
        FileStoreTable table = at(place, state, more);
        Path spelled = IcebergPlace.of(table);
        return spelled == null || !isReached(spelled) ? table : at(spelled, state, more);
    }

    /** Whether its spelling leads to the same files. */
    private boolean isReached(Path spelled) {
        String scheme = spelled.toUri().getScheme();
        boolean isLocal = scheme == null || scheme.equals("file");
        return isLocal ? files instanceof LocalFileIO : hadoop.get("fs." + scheme + ".impl") != null;
    }

    private FileStoreTable at(Path place, GivenState state, Map<String, String> more) {
        Map<String, String> options = new HashMap<>(more);
        options.put(CoreOptions.PATH.key(), place.toString());
        if (branch != null) {
            options.put(CoreOptions.BRANCH.key(), branch);
        }
        options.put(CoreOptions.WRITE_ONLY.key(), "true");
        options.put(CoreOptions.DYNAMIC_PARTITION_OVERWRITE.key(), String.valueOf(isDynamic));
        if (replacing != Replacing.NOTHING) {
            // Rows that take the place of others are seen at once.
            options.put(CoreOptions.POSTPONE_BATCH_WRITE_FIXED_BUCKET.key(), "true");
            if (options().changelogProducer() == CoreOptions.ChangelogProducer.INPUT) {
                // The library commits no changelog with them: its files would stay for ever.
                options.put(CoreOptions.CHANGELOG_PRODUCER.key(), CoreOptions.ChangelogProducer.NONE.toString());
            }
        }
        // Python decides whether a commit is tried again.
        options.put(CoreOptions.COMMIT_MAX_RETRIES.key(), "0");
        keyOfOneBucket().ifPresent(name -> options.put(CoreOptions.BUCKET_KEY.key(), name));
        Map<String, String> all = LibraryReads.withoutStates(schema.options());
        all.putAll(options);
        if (options().commitStrictModeLastSafeSnapshot().orElse(0L) < 0) {
            // A committer's first commit checks nothing, and each of ours is a first one. The library looks for snapshot 0.
            all.remove(CoreOptions.COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT.key());
        }
        // Not the table with its fallback branch: nothing is written there.
        return FileStoreTableFactory.createWithoutFallbackBranch(files, place, schema.copy(all), new Options(), state);
    }

    /**
     * A bucket key for a table of Paimon before 0.9 without any key and with one bucket, which it had by itself.
     *
     * <p>The library does not open it without one. In which bucket a row goes is the same by all columns.
     */
    private Optional<String> keyOfOneBucket() {
        if (!"1".equals(schema.options().get(CoreOptions.BUCKET.key())) || !schema.primaryKeys().isEmpty()
                || schema.options().containsKey(CoreOptions.BUCKET_KEY.key())) {
            return Optional.empty();
        }
        return schema.fields().stream()
                .filter(field -> !schema.partitionKeys().contains(field.name()))
                .filter(field -> !field.type().getTypeRoot().getFamilies().contains(DataTypeFamily.CONSTRUCTED))
                .map(DataField::name)
                .findFirst();
    }

    /** The table's own options. */
    CoreOptions options() {
        return new CoreOptions(schema.options());
    }

    /** To merge manifests takes so long that others, who commit all the time, would be faster at each try. */
    static FileStoreTable withoutMerging(FileStoreTable table) {
        return table.copy(Map.of(
                CoreOptions.MANIFEST_MERGE_MIN_COUNT.key(), String.valueOf(Integer.MAX_VALUE),
                CoreOptions.MANIFEST_FULL_COMPACTION_FILE_SIZE.key(), Long.MAX_VALUE + " b"));
    }

    GivenState state(String latest) {
        return new GivenState(branch, latest);
    }

    /** Whether rows go to real buckets although the table postpones that, as the stock connector writes them. */
    static boolean fixesBuckets(FileStoreTable table) {
        return table.bucketMode() == BucketMode.POSTPONE_MODE && table.coreOptions().postponeBatchWriteFixedBucket();
    }

    static FileStoreTable forRows(FileStoreTable table) {
        return fixesBuckets(table) ? PostponeUtils.tableForFixBucketWrite(table) : table;
    }
}
