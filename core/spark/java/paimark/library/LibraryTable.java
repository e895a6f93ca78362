package paimark.library;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.Snapshot;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.predicate.PredicateVisitor;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FallbackReadFileStoreTable;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.InnerTableScan;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.snapshot.SnapshotReader;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
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
    private Boolean hasChangedBuckets;
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

    /** For SHOW TBLPROPERTIES and SHOW CREATE TABLE. */
    @Override
    public Map<String, String> properties() {
        Map<String, String> all = new LinkedHashMap<>(table.schema().options());
        all.remove(CoreOptions.PATH.key());
        all.remove(CoreOptions.BRANCH.key());
        if (!table.primaryKeys().isEmpty()) {
            all.put(CoreOptions.PRIMARY_KEY.key(), String.join(",", table.primaryKeys()));
        }
        return all;
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

    private List<Split> plan(Predicate given) {
        Predicate condition = withoutChangedBuckets(given);
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

    /**
     * What is left without conditions on a bucket key whose type was changed: the same value has another bucket as
     * another type, and the library would look for older rows in that of the new type alone.
     */
    private Predicate withoutChangedBuckets(Predicate condition) {
        List<String> keys = table.schema().bucketKeys();
        if (condition == null || Collections.disjoint(PredicateVisitor.collectFieldNames(condition), keys)
                || !hasChangedBuckets()) {
            return condition;
        }
        List<Predicate> kept = PredicateBuilder.splitAnd(condition).stream()
                .filter(each -> Collections.disjoint(PredicateVisitor.collectFieldNames(each), keys)).toList();
        return kept.isEmpty() ? null : PredicateBuilder.and(kept);
    }

    /** The type of a primary key can't be changed. */
    private boolean hasChangedBuckets() {
        if (hasChangedBuckets == null) {
            hasChangedBuckets = table.primaryKeys().isEmpty() && table.schema().id() > 0 && areOfOtherTypes();
        }
        return hasChangedBuckets;
    }

    private boolean areOfOtherTypes() {
        TableSchema now = table.schema();
        Map<Integer, DataType> keys = now.fields().stream().filter(each -> now.bucketKeys().contains(each.name()))
                .collect(Collectors.toMap(DataField::id, each -> each.type().notNull()));
        return table.schemaManager().listAll().stream().flatMap(schema -> schema.fields().stream())
                .anyMatch(each -> keys.containsKey(each.id()) && !keys.get(each.id()).equals(each.type().notNull()));
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
