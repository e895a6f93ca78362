package paimark.library;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.index.HashIndexFile;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.partition.PartitionPredicate;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.stats.Statistics;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.utils.SerializationUtils;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Repartition;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Seq;

/** One write of rows to a branch of a table: first Spark's tasks write files, then they are committed. */
public final class TableWrite extends Uncommitted {
    private static final String BUCKET = "__paimark_bucket";

    private final SparkSession session;
    private final String known;
    private final Replacing replacing;
    private final String schema;
    private NamedPartitions partitions;
    private ChangeCounts counts = new ChangeCounts();
    private ChangesBeside beside;
    private long number = BatchWriteBuilder.COMMIT_IDENTIFIER;
    private Long watermark;
    private Statistics statistics;
    private Long rowsOf;

    /**
     * {@code branch} may be null. {@code schema} and {@code known}, the newest snapshot, are records' JSON; the
     * latter null if there is none. {@code replacing} is a name of {@link Replacing}.
     */
    public TableWrite(SparkSession session, String address, String branch, String schema, String known, String user,
            String replacing, boolean isDynamic) {
        super(new WrittenTable(session.sessionState().newHadoopConf(), address, branch, schema,
                Replacing.valueOf(replacing), isDynamic), known, user);
        this.session = session;
        this.schema = schema;
        this.known = known;
        this.replacing = Replacing.valueOf(replacing);
    }

    /** It is a batch of a stream with this number; {@code watermark} may be null. */
    public void ofBatch(long number, Long watermark) {
        this.number = number;
        this.watermark = watermark;
    }

    /**
     * An overwrite replaces the partitions with these values; {@code rows} have some partition columns, or none for the
     * whole table.
     */
    public void replace(Dataset<Row> rows) {
        partitions = new NamedPartitions(table.schema().logicalPartitionType(), rows);
    }

    /** Write the rows of a query with the table's columns, by name; {@code isSmall}: in one task. */
    public void write(Dataset<Row> rows, boolean isSmall) {
        LogicalPlan plan = rows.queryExecution().analyzed();
        boolean fitsOne = isSmall || rows.queryExecution().optimizedPlan() instanceof LocalRelation;
        PostponedBuckets postponed = !WrittenTable.fixesBuckets(table) ? null
                : new PostponedBuckets(table, session.sparkContext().defaultParallelism());
        Target target = new Target(rows.schema(), postponed);
        AppendData append = AppendData.byPosition(
                DataSourceV2Relation.create(target, Option.empty(), Option.empty(), CaseInsensitiveStringMap.empty(),
                        Option.empty()),
                fitsOne ? new Repartition(1, false, plan) : clustered(plan, postponed),
                scala.collection.immutable.Map$.MODULE$.empty());
        Dataset.ofRows(session, append);
        add(target.messages());
    }

    /** Write the rows of an INSERT: {@link SourceRows}. {@code label} is the table's name for people. */
    public void assign(Dataset<Row> rows, String label) {
        SourceRows.write(this, label, rows, rows.schema().length() == table.rowType().getFieldCount());
    }

    /** These data files of the newest snapshot leave the table; none of them has a deletion vector. */
    public void takeOut(List<String> names) {
        add(CommitFiles.deletions(table, Snapshot.fromJson(known), new HashSet<>(names)));
    }

    /** These partitions leave the table: as rows in Base64, as manifests have them. */
    public void takeOutPartitions(List<String> rows) throws IOException {
        Set<BinaryRow> gone = new HashSet<>();
        for (String each : rows) {
            gone.add(SerializationUtils.deserializeBinaryRow(Base64.getDecoder().decode(each)));
        }
        PartitionPredicate all = PartitionPredicate.fromMultiple(table.schema().logicalPartitionType(), gone);
        add(CommitFiles.deletions(table, Snapshot.fromJson(known), all));
    }

    private void add(List<CommitMessage> more) {
        List<CommitMessage> all = new ArrayList<>(messages);
        all.addAll(more);
        messages = all;
    }

    /** Others may commit beside rows that are changed, but no row of the same key, nor to partitions that are replaced. */
    public void changeBeside() {
        beside = new ChangesBeside(table, Snapshot.fromJson(known));
    }

    /** The table for a statement that changes its rows; {@code label} is its name for people. */
    public Table changing(String label) {
        Snapshot state = known == null ? null : Snapshot.fromJson(known);
        return new ChangedTable(label, table, state, this, DefaultValues.of(TableSchema.fromJson(schema)));
    }

    /** Commit statistics of the newest snapshot and no rows; {@code found} is as {@link ColumnStatistics} takes it. */
    public void describe(Dataset<Row> found, List<String> columns, long size) {
        statistics = ColumnStatistics.of(table, Snapshot.fromJson(known), found.head(), columns, size);
    }

    /** What such a statement wrote. */
    void changed(List<CommitMessage> written, ChangeCounts rows) {
        add(written);
        counts = rows;
        if (table.coreOptions().dataEvolutionEnabled() && rows.updated > 0) {
            rowsOf = Snapshot.fromJson(known).id();
        }
    }

    String user() {
        return user;
    }

    /** The numbers of {@link ChangeCounts}. */
    public long[] counts() {
        return new long[] {counts.deleted, counts.updated, counts.inserted, counts.gone};
    }

    /** The rows with each bucket's in one task. */
    private LogicalPlan clustered(LogicalPlan plan, PostponedBuckets postponed) {
        BucketMode mode = table.bucketMode();
        if (mode == BucketMode.KEY_DYNAMIC || (mode == BucketMode.HASH_DYNAMIC && table.partitionKeys().isEmpty())) {
            return new Repartition(1, true, plan);
        }
        List<Expression> by = new ArrayList<>();
        table.partitionKeys().forEach(name -> by.add(column(plan, name)));
        LogicalPlan numbered = plan;
        if (mode == BucketMode.HASH_FIXED || postponed != null) {
            Alias bucket = bucket(plan, postponed);
            List<NamedExpression> columns = new ArrayList<>(scala.jdk.javaapi.CollectionConverters.asJava(plan.output()));
            columns.add(bucket);
            numbered = new Project(seq(columns), plan);
            by.add(bucket.toAttribute());
        } else if (mode != BucketMode.HASH_DYNAMIC) {
            return plan;
        }
        return new RepartitionByExpression(seq(by), numbered, Option.empty(), Option.empty());
    }

    private Alias bucket(LogicalPlan plan, PostponedBuckets postponed) {
        BucketNumbers numbers = new BucketNumbers(table, postponed);
        List<Expression> parts = new ArrayList<>();
        for (String name : numbers.columns()) {
            parts.add(new Literal(UTF8String.fromString(name), DataTypes.StringType));
            parts.add(column(plan, name));
        }
        Expression row = new CreateNamedStruct(seq(parts));
        Literal object = Literal.fromObject(numbers, new ObjectType(BucketNumbers.class));
        Expression number =
                new Invoke(object, "bucket", DataTypes.IntegerType, seq(List.of(row)), seq(List.of()), false, false, true);
        return new Alias(number, BUCKET, NamedExpression.newExprId(), seq(List.of()), Option.empty(), seq(List.of()));
    }

    private static Attribute column(LogicalPlan plan, String name) {
        for (Attribute each : scala.jdk.javaapi.CollectionConverters.asJava(plan.output())) {
            if (each.name().equals(name)) {
                return each;
            }
        }
        throw new IllegalArgumentException("the rows lack column " + name);
    }

    private static <T> Seq<T> seq(List<T> of) {
        return PythonUtils.toSeq(of);
    }

    @Override
    Committing.Change change(String before) {
        Committing.Change change = new Committing.Change(user, messages, replacing, partitions,
                beside == null ? before : known);
        change.statistics = statistics;
        change.number = number;
        change.watermark = watermark;
        change.rowsOf = rowsOf;
        return change;
    }

    @Override
    public boolean isEmpty() {
        return super.isEmpty() && partitions == null;
    }

    @Override
    public boolean isOutrun(String now) throws IOException {
        return beside != null && !beside.mayStand(Snapshot.fromJson(now), messages, partitions);
    }

    /**
     * Whether rows could find other buckets now than they did: somebody gave keys their buckets since they were
     * written. A writer would give the same keys to others, and writes a bucket's index as a whole.
     */
    @Override
    public boolean hasOtherBuckets(String now) {
        if (now == null || now.equals(known)) {
            return false;
        }
        switch (table.bucketMode()) {
            case HASH_DYNAMIC:
                return !indexes(known).equals(indexes(now));
            case KEY_DYNAMIC:
                return !hasOnlyCompactions(Snapshot.fromJson(now));
            default:
                return false;
        }
    }

    /** The hash indexes of the partitions that are written; of an overwrite those that it replaces. */
    private Set<IndexManifestEntry> indexes(String snapshot) {
        if (snapshot == null) {
            return Set.of();
        }
        Set<BinaryRow> touched = messages.stream().map(each -> ((CommitMessageImpl) each).partition()).collect(Collectors.toSet());
        return table.store().newIndexFileHandler().scan(Snapshot.fromJson(snapshot), HashIndexFile.HASH_INDEX).stream()
                .filter(each -> partitions != null ? partitions.test(each.partition())
                        : replacing != Replacing.NOTHING || touched.contains(each.partition()))
                .collect(Collectors.toSet());
    }

    private boolean hasOnlyCompactions(Snapshot now) {
        long first = known == null ? Snapshot.FIRST_SNAPSHOT_ID : Snapshot.fromJson(known).id() + 1;
        for (long id = first; id <= now.id(); id++) {
            Snapshot each = id == now.id() ? now : table.snapshotManager().snapshot(id);
            if (each.commitKind() != Snapshot.CommitKind.COMPACT) {
                return false;
            }
        }
        return first <= now.id();
    }

    private final class Target extends RowTarget {
        private final PostponedBuckets postponed;

        Target(StructType columns, PostponedBuckets postponed) {
            super(table.name(), columns);
            this.postponed = postponed;
        }

        @Override
        DataWriterFactory factory(StructType given) {
            return new RowWriter.Factory(table, user, Arrays.asList(given.fieldNames()), replacing, postponed, false);
        }

        @Override
        void delete(List<CommitMessage> written) {
            CommitFiles.deleteData(table, written);
        }
    }
}
