package paimark.clauses;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.catalog.TemporaryViewRelation;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;
import scala.collection.immutable.Seq;

/** The tables of a statement and of the temporary views in it, with the states that are asked for, by one parse. */
public final class Uses {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final SparkSession session;
    private final ClauseParser parser;
    private final Times times;
    private final ArrayNode found;

    private Uses(SparkSession session, long now, ArrayNode found) {
        this.session = session;
        this.parser = ClauseParser.of(session);
        this.times = new Times(session, now);
        this.found = found;
    }

    /**
     * JSON: {@code {"uses": [...]}}, or {@code {"fault": [reason, hint, position]}} for a clause that is not obeyed.
     * {@code now} is in milliseconds since 1970. Throws Spark's errors.
     */
    public static String of(SparkSession session, String text, long now) throws ParseException {
        ObjectNode all = JSON.createObjectNode();
        try {
            Uses uses = new Uses(session, now, all.putArray("uses"));
            uses.parser.forget();
            uses.add(text, text, null, null);
        } catch (Refused refused) {
            all.remove("uses");
            all.putArray("fault").add(refused.reason).add(refused.hint).add(refused.position);
        }
        return all.toString();
    }

    /** {@code outer} is the view's place in the statement; null for the statement itself. */
    private void add(String key, String text, Parsed.Use outer, List<String> database) throws ParseException {
        Parsed parsed = parser.parse(text);
        for (Parsed.Use use : parsed.uses()) {
            Parsed.Use shown = outer == null ? use : outer;
            ObjectNode node = found.addObject();
            ArrayNode parts = node.putArray("parts");
            use.parts.forEach(parts::add);
            node.put("start", shown.start).put("end", shown.end).put("at", use.start);
            node.put("key", outer == null ? "" : key);
            if (database != null) {
                node.put("database", String.join(".", database));
            }
            if (use.clause != null) {
                add(use.clause, parsed, outer, node.putObject("clause"));
            }
            TemporaryViewRelation view = view(use.parts);
            if (view != null) {
                node.put("is_view", true);
                CatalogTable made = view.tableMeta();
                if (view.plan().isEmpty() && made.viewText().isDefined()) {
                    List<String> within = new ArrayList<>();
                    Seq<String> namespace = made.viewCatalogAndNamespace();
                    for (int part = 1; part < namespace.length(); part++) {
                        within.add(namespace.apply(part));
                    }
                    ofView(made, shown, within);
                }
            }
        }
    }

    private void ofView(CatalogTable made, Parsed.Use shown, List<String> within) throws ParseException {
        try {
            add(made.qualifiedName(), made.viewText().get(), shown, within);
        } catch (Refused refused) {
            throw new Refused(refused.reason, refused.hint, shown.start);
        }
    }

    /** {@code outer} as above: a clause in a view is at the view's place. */
    private void add(Clause clause, Parsed parsed, Parsed.Use outer, ObjectNode node) {
        node.put("words", clause.words);
        node.put("start", outer == null ? clause.start : outer.start);
        node.put("end", outer == null ? clause.end : outer.end);
        if (clause.version != null) {
            node.put("version", clause.version).put("is_tag", clause.isTag);
            return;
        }
        if (clause.millis != null) {
            node.put("time_ms", clause.millis);
            return;
        }
        node.put("time_start", outer == null ? clause.timeStart : outer.start);
        if (clause.literal != null) {
            node.put("literal", clause.literal).put("literal_type", clause.literalType);
        } else {
            node.put("time_ms", times.millis(clause, parsed.text()));
        }
        node.put("time", clause.isOption() ? "'" + clause.literal + "'" : parsed.between(clause.timeStart, clause.end));
    }

    /** The temporary view of that name; null if there is none. */
    private TemporaryViewRelation view(List<String> parts) {
        SessionCatalog catalog = session.sessionState().catalog();
        Option<TemporaryViewRelation> view = catalog.getRawLocalOrGlobalTempView(PythonUtils.toSeq(parts));
        return view.isDefined() ? view.get() : null;
    }
}
