package paimark.library;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.Snapshot;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FallbackReadFileStoreTable;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.InnerTableScan;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.snapshot.SnapshotReader;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.IdentityTransform;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A table at a state, with the splits that the last conditions left. */
public final class LibraryTable implements SupportsRead {
    /** The option of a scan: how many rows are enough. */
    static final String MOST = "most";

    private static final int KEPT_PLANS = 16;

    private final String name;
    final FileStoreTable table;
    private final Snapshot state;
    private final boolean isVersion;
    private final Set<String> only;
    private final Map<Predicate, List<Split>> plans = new LinkedHashMap<>(KEPT_PLANS, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Predicate, List<Split>> eldest) {
            return size() > KEPT_PLANS;
        }
    };

    LibraryTable(String name, FileStoreTable table, Snapshot state, boolean isVersion, String only) {
        this.name = name;
        this.table = table;
        this.state = state;
        this.isVersion = isVersion;
        this.only = only == null ? null : new HashSet<>(Arrays.asList(only.split("\n")));
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public StructType schema() {
        return SparkTypes.declared(table.rowType());
    }

    @Override
    public Transform[] partitioning() {
        return table.partitionKeys().stream().map(FieldReference::column).map(IdentityTransform::new).toArray(Transform[]::new);
    }

    @Override
    public Set<TableCapability> capabilities() {
        return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new LibraryScanBuilder(this, options.getInt(MOST, -1));
    }

    /** The splits that may have rows for the condition; null: for none. */
    synchronized List<Split> splits(Predicate condition) {
        Predicate key = condition == null ? PredicateBuilder.alwaysTrue() : condition;
        List<Split> known = plans.get(key);
        if (known == null) {
            try {
                known = plan(condition);
            } catch (RuntimeException error) {
                throw ReadErrors.told(error, name);
            }
            plans.put(key, known);
        }
        return known;
    }

    private List<Split> plan(Predicate condition) {
        if (table instanceof FallbackReadFileStoreTable) {
            return planBranches(condition);
        }
        if (state == null) {
            return List.of();
        }
        SnapshotReader reader = table.newSnapshotReader().withSnapshot(state);
        if (condition != null) {
            reader.withFilter(condition);
        }
        // As a batch scan of the library does it: of such tables it shows only what is compacted.
        if (!table.primaryKeys().isEmpty() && table.coreOptions().batchScanSkipLevel0()) {
            reader.withLevelFilter(level -> level > 0).enableValueFilter();
        }
        if (table.bucketMode() == BucketMode.POSTPONE_MODE) {
            reader.onlyReadRealBuckets();
        }
        if (only != null) {
            reader.withDataFileNameFilter(only::contains);
        }
        return new ArrayList<>(reader.read().splits());
    }

    /** The library itself says which state of the other branches belongs to a version. */
    private List<Split> planBranches(Predicate condition) {
        FileStoreTable read = table;
        if (isVersion) {
            read = table.copy(Map.of(CoreOptions.SCAN_SNAPSHOT_ID.key(), String.valueOf(state.id())));
        }
        InnerTableScan scan = read.newScan();
        if (condition != null) {
            scan.withFilter(condition);
        }
        return new ArrayList<>(scan.plan().splits());
    }
}
