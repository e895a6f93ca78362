package paimark.scans;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkJobInfo;
import org.apache.spark.SparkStageInfo;
import org.apache.spark.SparkStatusTracker;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.ExplainMode;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import paimark.catalog.FrameTable;
import paimark.catalog.PreparedTables;
import paimark.catalog.StandIn;
import paimark.catalog.Tables;
import paimark.clauses.ClauseParser;
import paimark.clauses.Uses;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag$;

/**
 * Plans queries from text to frame in few calls: a call from Python takes longer than most of what it does.
 *
 * <p>One query is current at a time. Plans of earlier queries are kept under their numbers until {@code planQuery}
 * leaves them out of {@code kept}.
 */
public final class Queries {
    /** Deterministic nodes: they give the same rows each time that they run on the same rows. */
    private static final Set<String> LASTING = Set.of(
            "Aggregate", "CTERelationDef", "CTERelationRef", "Deduplicate", "Distinct", "Except", "Expand",
            "Filter", "Generate", "GlobalLimit", "Intersect", "Join", "LateralJoin", "LocalLimit",
            "LocalRelation", "LogicalRDD", "Offset", "OneRowRelation", "Project", "Range", "ResolvedHint",
            "Sort", "SubqueryAlias", "Union", "Window", "WithCTE");

    /** The beginnings of Spark's words for times relative to now. */
    private static final Pattern CLOCK = Pattern.compile("(?i)[\\x00-\\x20]*(now|today|tomorrow|yesterday)");

    private static final int MOST_STAND_INS = 64;

    private final SparkSession session;
    private final SessionCatalog catalog;
    private final Plans plans;
    private final String key;
    private final ObjectMapper json = new ObjectMapper();
    private final Map<String, RDD<InternalRow>> rowless = new HashMap<>();
    private final Map<String, Column[]> schemas = new HashMap<>();
    private final PreparedTables prepared = new PreparedTables();
    private final String ours;
    private final Map<Long, LogicalPlan> plansKept = new HashMap<>();
    private final Map<String, Dataset<Row>> tables = new HashMap<>();
    private Dataset<Row> frame;
    private ExplainMode mode;
    private long number;
    /** How many rows of the current query are wanted, negative for all. */
    private int wanted;

    /** {@code key} is that of {@code Plans}; {@code ours} is the name of our catalog. */
    public Queries(SparkSession session, String key, String ours) {
        this.session = session;
        this.catalog = session.sessionState().catalog();
        this.plans = new Plans(key);
        this.key = key;
        this.ours = ours;
        ((Tables) session.sessionState().catalogManager().catalog(ours)).resolveBy(prepared);
        use(null);
    }

    /** Makes our catalog the current one, and a database that of it; none if it is null. */
    public void use(String database) {
        CatalogManager manager = session.sessionState().catalogManager();
        manager.setCurrentCatalog(ours);
        manager.setCurrentNamespace(database == null ? new String[0] : new String[] {database});
    }

    /** The tables of a statement as JSON: {@code Uses}. */
    public String uses(String text, long now) throws Exception {
        return Uses.of(session, text, now);
    }

    /** Names the states of a statement's tables: {@code ClauseParser}. */
    public void pin(String pins) {
        ClauseParser.of(session).pin(pins);
    }

    /** Puts a frame into our catalog. */
    public void putFrame(String name, String label, Dataset<Row> table) {
        prepared.put(name, List.of(), new FrameTable(label, table));
    }

    /** Puts a table as it is into our catalog: the target of a statement that changes rows. */
    public void putTable(String name, List<String> parts, Table table) {
        prepared.put(name, new ArrayList<>(parts), table);
    }

    /** The names of temporary views as JSON: of this session, or those in a {@code database} that all sessions see. */
    public String views(String database, boolean ofAll) {
        Seq<TableIdentifier> found = ofAll ? catalog.listTables(database, "*", false) : catalog.listLocalTempViews("*");
        ArrayNode names = json.createArrayNode();
        found.foreach(each -> names.add(each.table()));
        return names.toString();
    }

    /** Removes a table from our catalog. */
    public void remove(String name) {
        prepared.remove(name);
    }

    /** Sets the job tag of this thread, and removes all others; null for none. */
    public void tag(String tag) {
        SparkContext context = session.sparkContext();
        context.clearJobTags();
        if (tag != null) {
            context.addJobTag(tag);
        }
    }

    /**
     * Parses a statement, and plans it if it is a query; {@code queries.py} describes the result, and the values of
     * {@code planMode}. {@code limit} is how many rows will be shown, negative for all.
     *
     * <p>{@code standIns} is JSON: a list {@code [name, place, schema, label]} for each of our tables in it.
     * {@code kept}, JSON too, has the numbers of the queries whose plans are kept. Sets the {@code tag} of this thread.
     */
    public synchronized String planQuery(
            String text,
            String planMode,
            int limit,
            String standIns,
            long number,
            String kept,
            String tag,
            String pins)
            throws Exception {
        tag(tag);
        settle(json.readTree(kept));
        ClauseParser parser = ClauseParser.of(session);
        parser.pin(pins);
        LogicalPlan written = parser.written(text);
        LogicalPlan query = parser.parsePlan(text);
        parser.settle();
        ObjectNode description = json.createObjectNode();
        description.put("kind", written.getClass().getSimpleName());
        if (planMode.equals("explain") && query instanceof ExplainCommand) {
            written = ((ExplainCommand) written).logicalPlan();
            mode = ((ExplainCommand) query).mode();
            query = ((ExplainCommand) query).logicalPlan();
        }
        boolean reads = plans.isQuery(written);
        description.put("reads", reads);
        if (reads && !planMode.equals("look")) {
            Dataset<Row> planned = planned(query, json.readTree(standIns));
            description.put("lasting", isLasting(planned.queryExecution().analyzed()));
            boolean isShown = planMode.equals("show");
            Dataset<Row> asked = isShown ? shown(planned, limit, description) : planned;
            wanted = isShown ? Needs.least(description.path("most").asInt(-1), limit < 0 ? -1 : limit + 1) : -1;
            describe(asked, description);
            this.number = number;
        }
        return description.toString();
    }

    /** The numbers of all stages and of finished stages of a tag's jobs, and the same for their tasks. */
    public String progress(String tag) {
        SparkStatusTracker tracker = session.sparkContext().statusTracker();
        int stages = 0;
        int stagesDone = 0;
        int tasks = 0;
        int tasksDone = 0;
        for (int job : tracker.getJobIdsForTag(tag)) {
            Option<SparkJobInfo> found = tracker.getJobInfo(job);
            for (int id : found.isEmpty() ? new int[0] : found.get().stageIds()) {
                stages++;
                Option<SparkStageInfo> stage = tracker.getStageInfo(id);
                if (stage.isDefined()) {
                    int all = stage.get().numTasks();
                    int completed = stage.get().numCompletedTasks();
                    tasks += all;
                    tasksDone += completed;
                    stagesDone += all == completed ? 1 : 0;
                }
            }
        }
        return stages + " " + stagesDone + " " + tasks + " " + tasksDone;
    }

    /** Replaces the current frame, and describes the new one as {@code planQuery} does. */
    public String replaceFrame(Dataset<Row> instead) {
        ObjectNode description = json.createObjectNode();
        describe(instead, description);
        return description.toString();
    }

    /** Sets the frame of one of our tables, by its place in the current query. */
    public void put(String place, Dataset<Row> table) {
        tables.put(place, table);
    }

    /** The frame of the current query, with those of its tables that were set. */
    public synchronized Dataset<Row> frame() {
        if (!tables.isEmpty()) {
            frame = plans.withTables(frame, tables);
            tables.clear();
        }
        return frame;
    }

    /** The output of EXPLAIN for the current query, with its tables. */
    public String explained() {
        return frame().queryExecution().explainString(mode);
    }

    /** The frame of a query by its number. */
    public synchronized Dataset<Row> frame(long query, boolean ranBefore) {
        if (ranBefore) {
            // A new frame, because one that has run keeps its computed results.
            return Dataset.ofRows(session, planOf(query));
        }
        // A query that was given up may ask late, when the next one is current.
        requireAtHand(query);
        return frame();
    }

    /**
     * The result of {@code ResultRows} for the frame of a query and {@code most}. If {@code place} is not null, the
     * query must be the current one, and the {@code table} is set there first.
     */
    public byte[] few(ResultRows results, long query, boolean ranBefore, int most, String place, Dataset<Row> table) {
        if (place != null) {
            requireAtHand(query);
            put(place, table);
        }
        return results.few(frame(query, ranBefore), most);
    }

    private LogicalPlan planOf(long query) {
        if (!plansKept.containsKey(query)) {
            requireAtHand(query);
            plansKept.put(query, frame().queryExecution().analyzed());
        }
        return plansKept.get(query);
    }

    private void requireAtHand(long query) {
        if (frame == null || query != number) {
            throw new IllegalStateException("query " + query + " was not kept");
        }
    }

    /** Drops the current query, and all plans that are not in {@code kept}. */
    private void settle(JsonNode kept) {
        Set<Long> numbers = new HashSet<>();
        kept.forEach(each -> numbers.add(each.asLong()));
        if (frame != null && numbers.contains(number)) {
            planOf(number);
        }
        plansKept.keySet().retainAll(numbers);
        frame = null;
        number = 0;
        tables.clear();
    }

    private Dataset<Row> planned(LogicalPlan parsed, JsonNode standIns) {
        try {
            standIns.forEach(this::prepare);
            return Dataset.ofRows(session, parsed);
        } finally {
            // The analysed plan no longer needs them.
            standIns.forEach(table -> prepared.remove(table.get(0).asText()));
        }
    }

    /** Puts a table without rows into our catalog. */
    private void prepare(JsonNode table) {
        String schema = table.get(2).asText();
        if (schemas.size() >= MOST_STAND_INS) {
            schemas.clear();
        }
        Column[] columns = schemas.computeIfAbsent(schema, each -> nullable((StructType) DataType.fromJson(each)));
        String place = table.get(1).asText();
        StandIn standIn = new StandIn(table.get(3).asText(), columns, session, noRows(place), key, place);
        prepared.put(table.get(0).asText(), List.of(), standIn);
    }

    /** One for each place: Spark takes plans with the same RDD for equal, and would merge queries of two tables. */
    private RDD<InternalRow> noRows(String place) {
        return rowless.computeIfAbsent(place, each -> noRows());
    }

    private RDD<InternalRow> noRows() {
        return session.sparkContext().emptyRDD(ClassTag$.MODULE$.apply(InternalRow.class));
    }

    private static Column[] nullable(StructType schema) {
        StructField[] fields = schema.fields();
        StructField[] made = new StructField[fields.length];
        for (int number = 0; number < fields.length; number++) {
            made[number] = new StructField(fields[number].name(), fields[number].dataType(), true, Metadata.empty());
        }
        return CatalogV2Util.structTypeToV2Columns(new StructType(made));
    }

    /** The frame to run if that many rows will be shown. */
    private Dataset<Row> shown(Dataset<Row> planned, int limit, ObjectNode description) {
        LogicalPlan analyzed = planned.queryExecution().analyzed();
        String most = limitOf(analyzed);
        if (most == null) {
            boolean isCut = limit >= 0 && isSorted(analyzed);
            return isCut ? planned.limit(limit + 1) : planned;
        }
        LogicalPlan local = analyzed.children().head();
        if (!(local instanceof LocalLimit) || isSorted(((LocalLimit) local).child())) {
            return planned;
        }
        // With its LIMIT, Spark would start a task for every partition, and discard most of the rows they read.
        description.put("most", Integer.parseInt(most));
        return Dataset.ofRows(session, ((LocalLimit) local).child());
    }

    /** Makes a frame the current one, and describes it. */
    private void describe(Dataset<Row> described, ObjectNode description) {
        frame = described;
        description.put("columns", described.schema().json());
        if (described.schema().fields().length > 0) {
            description.set("needs", Needs.of(plans, described.queryExecution().optimizedPlan(), wanted));
        }
    }

    /** The number of a LIMIT at the top of the plan; null if there is none, or if it is an expression. */
    private static String limitOf(LogicalPlan plan) {
        if (!(plan instanceof GlobalLimit)) {
            return null;
        }
        String rows = ((GlobalLimit) plan).limitExpr().toString();
        return rows.matches("[0-9]{1,9}") ? rows : null;
    }

    /** Whether the statement gives the rows an order. */
    private static boolean isSorted(LogicalPlan plan) {
        LogicalPlan node = plan;
        while (node instanceof Project || node instanceof SubqueryAlias || node instanceof Offset) {
            node = node.children().head();
        }
        return node instanceof Sort;
    }

    /** Whether the result depends only on our tables, and not on random values, the session or the clock. */
    private boolean isLasting(LogicalPlan node) {
        boolean isForeign = node instanceof LogicalRDD && plans.placeOf(node) == null;
        return LASTING.contains(node.getClass().getSimpleName())
                && !isForeign
                && !node.expressions().exists(each -> each.exists(Queries::isPassing))
                && node.subqueries().forall(each -> isLasting((LogicalPlan) each))
                && node.children().forall(this::isLasting);
    }

    private static boolean isPassing(Expression expression) {
        // Expressions of the session or the clock, which the optimiser replaces by values.
        boolean isOfNow = expression instanceof Unevaluable && expression.foldable();
        return !expression.deterministic() || isOfNow || !isLastingText(expression);
    }

    /** Whether a text has no relative time: the optimiser casts `today` and the like to dates and times. */
    private static boolean isLastingText(Expression expression) {
        if (!expression.foldable() || !(expression.dataType() instanceof StringType)) {
            return true;
        }
        try {
            Object text = expression.eval(null);
            return text == null || !CLOCK.matcher(text.toString()).lookingAt();
        } catch (Exception error) {
            return false;
        }
    }
}
