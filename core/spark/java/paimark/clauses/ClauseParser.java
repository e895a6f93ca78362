package paimark.clauses;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.NamedParameterContext;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.parser.PositionalParameterContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin$;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.internal.VariableSubstitution;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Spark's parser, with the clauses of time travel that its grammar lacks, at all places of tables. Positions stay.
 *
 * <p>Whoever has looked at a statement by {@link Uses} can pin its tables: then the statement, and the views in it, are
 * parsed to plans in which each table has the name of one state.
 */
public final class ClauseParser implements ParserInterface {
    /** On a server: the pins of the next statement, and its text. */
    private static final String PINS = "paimark.pins";
    private static final Pattern MAYBE = Pattern.compile("(?i)\\b(of|with|options)\\b|\\$");
    /** Statements of free text. */
    private static final Pattern FREE = Pattern.compile("(?i)\\s*(set(?!\\s+var)|reset|add|list)\\b.*", Pattern.DOTALL);
    private static final int MOST = 16;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final ParserInterface spark;
    private final SparkSession session;
    private final Map<String, Parsed> parsed = new LinkedHashMap<>();
    private Map<String, Map<Integer, Parsed.Pin>> pins = Map.of();
    private String given = "";

    ClauseParser(SparkSession session, ParserInterface spark) {
        this.session = session;
        this.spark = spark;
    }

    /** That of a session; throws if it has none. */
    public static ClauseParser of(SparkSession session) {
        return (ClauseParser) session.sessionState().sqlParser();
    }

    /** The plan of a statement as it is written, without pins. */
    public LogicalPlan written(String text) throws ParseException {
        return parse(text).plan;
    }

    /** What is parsed of a statement's text; it is kept for when Spark asks for its plan. */
    synchronized Parsed parse(String text) throws ParseException {
        Parsed known = parsed.get(text);
        if (known != null) {
            return known;
        }
        Parsed made = parsed(text);
        if (parsed.size() >= MOST) {
            parsed.clear();
        }
        parsed.put(text, made);
        return made;
    }

    /**
     * What is parsed, for Spark, and not again: an analysis leaves its marks in a plan, such as that a table was not
     * found, and the next one may be at another time and under other settings.
     */
    private Parsed taken(String text) throws ParseException {
        Parsed known;
        synchronized (this) {
            known = parsed.remove(text);
        }
        return known != null ? known : parsed(text);
    }

    private Parsed parsed(String text) throws ParseException {
        boolean isOurs = MAYBE.matcher(text).find() && !FREE.matcher(text).matches();
        Words words = isOurs ? new Words(new VariableSubstitution().substitute(text)) : null;
        try {
            if (words == null) {
                return new Parsed(spark.parsePlan(text), null, null);
            }
            Clauses clauses = new Clauses(words);
            return new Parsed(Grammar.plan(words), words, clauses);
        } catch (ParseException error) {
            Faults.explain(words == null ? new Words(text) : words);
            throw error;
        }
    }

    /** Drops what was parsed: Spark's parser reads the clock for {@code TIMESTAMP'now'}. */
    public synchronized void settle() {
        parsed.clear();
    }

    /** Drops what was parsed and pinned before: the session may have changed. */
    synchronized void forget() {
        parsed.clear();
        pins = Map.of();
        given = "";
    }

    /**
     * Pins tables, as JSON: {@code [[key, position, [part, ...]], ...]}. The key is a statement's text, or the
     * qualified name of a view; the last part is the version that stands for the state.
     */
    public synchronized void pin(String json) {
        if (json.equals(given)) {
            return;
        }
        Map<String, Map<Integer, Parsed.Pin>> made = new HashMap<>();
        try {
            for (JsonNode pin : JSON.readTree(json.isEmpty() ? "[]" : json)) {
                made.computeIfAbsent(pin.get(0).asText(), each -> new HashMap<>())
                        .put(pin.get(1).asInt(), new Parsed.Pin(pin.get(2)));
            }
        } catch (java.io.IOException error) {
            throw new IllegalArgumentException(error);
        }
        pins = made;
        given = json;
    }

    private LogicalPlan plan(String text) throws ParseException {
        String ofServer = SQLConf$.MODULE$.get().getConfString(PINS, "");
        if (!ofServer.isEmpty()) {
            pin(ofServer);
        }
        Origin origin = CurrentOrigin$.MODULE$.get();
        boolean isView = origin.objectType().isDefined() && origin.objectType().get().equals("VIEW");
        Map<Integer, Parsed.Pin> own = pins.get(isView ? origin.objectName().get() : text);
        Parsed made = taken(text);
        return own == null && made.isPlain() ? made.plan : made.with(own == null ? Map.of() : own, session);
    }

    @Override
    public LogicalPlan parsePlan(String text) throws ParseException {
        return plan(text);
    }

    @Override
    public LogicalPlan parsePlanWithParameters(String text, ParameterContext parameters) throws ParseException {
        boolean hasNone = parameters instanceof PositionalParameterContext
                ? ((PositionalParameterContext) parameters).params().isEmpty()
                : ((NamedParameterContext) parameters).params().isEmpty();
        return hasNone ? plan(text) : spark.parsePlanWithParameters(text, parameters);
    }

    @Override
    public LogicalPlan parseQuery(String text) throws ParseException {
        return plan(text);
    }

    @Override
    public Expression parseExpression(String text) throws ParseException {
        return spark.parseExpression(text);
    }

    @Override
    public TableIdentifier parseTableIdentifier(String text) throws ParseException {
        return spark.parseTableIdentifier(text);
    }

    @Override
    public FunctionIdentifier parseFunctionIdentifier(String text) throws ParseException {
        return spark.parseFunctionIdentifier(text);
    }

    @Override
    public Seq<String> parseMultipartIdentifier(String text) throws ParseException {
        return spark.parseMultipartIdentifier(text);
    }

    @Override
    public StructType parseRoutineParam(String text) throws ParseException {
        return spark.parseRoutineParam(text);
    }

    @Override
    public StructType parseTableSchema(String text) throws ParseException {
        return spark.parseTableSchema(text);
    }

    @Override
    public DataType parseDataType(String text) throws ParseException {
        return spark.parseDataType(text);
    }
}
