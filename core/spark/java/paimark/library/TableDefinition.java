package paimark.library;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaValidation;
import org.apache.paimon.schema.TableSchema;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.ColumnDefinition;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.connector.expressions.Transform;
import scala.Option;
import scala.collection.Iterator;

/**
 * A program: prints the schema that a CREATE TABLE defines, as Paimon writes it, or why it defines none.
 *
 * <p>Standard input is a JSON object with the statement, {@code sql}. The answer is an object with {@code schema}, or
 * with {@code refused} and, if it is known, {@code position}: an offset in the statement.
 */
public final class TableDefinition {
    private static final String PAIMON = "paimon";

    private TableDefinition() {}

    public static void main(String[] none) throws Exception {
        ObjectMapper json = new ObjectMapper();
        JsonNode given = json.readTree(System.in);
        ObjectNode answer = json.createObjectNode();
        String sql = given.get("sql").asText();
        try {
            TableSchema schema = TableSchema.create(0, defined(sql));
            SchemaValidation.validateTableSchema(schema);
            answer.set("schema", json.readTree(schema.toString()));
        } catch (Exception error) {
            answer.put("refused", firstLine(error));
            if (error instanceof ParseException) {
                answer.put("position", position(sql, ((ParseException) error).start()));
            }
        }
        new PrintStream(System.out, true, StandardCharsets.UTF_8).print(answer);
    }

    private static int position(String sql, Origin at) {
        int line = (Integer) at.line().getOrElse(() -> 1);
        int start = 0;
        for (int each = 1; each < line; each++) {
            start = sql.indexOf('\n', start) + 1;
        }
        return start + (Integer) at.startPosition().getOrElse(() -> 0);
    }

    private static Schema defined(String sql) {
        LogicalPlan plan = CatalystSqlParser$.MODULE$.parsePlan(sql);
        if (!(plan instanceof CreateTable)) {
            throw refused("It is no CREATE TABLE with columns");
        }
        CreateTable create = (CreateTable) plan;
        UnresolvedTableSpec spec = (UnresolvedTableSpec) create.tableSpec();
        requireKept(spec);
        Schema.Builder schema = Schema.newBuilder();
        for (Iterator<ColumnDefinition> each = create.columns().iterator(); each.hasNext(); ) {
            addColumn(schema, each.next());
        }
        List<String> partitions = new ArrayList<>();
        for (Iterator<Transform> each = create.partitioning().iterator(); each.hasNext(); ) {
            partitions.add(partition(each.next()));
        }
        Map<String, String> options = new LinkedHashMap<>();
        scala.jdk.javaapi.CollectionConverters.asJava(spec.properties()).forEach(options::put);
        if (spec.comment().isDefined()) {
            schema.comment(spec.comment().get());
        }
        return schema.partitionKeys(partitions).options(options).build();
    }

    /** Refuse, by its name, what a table of Paimon would not keep. */
    private static void requireKept(UnresolvedTableSpec spec) {
        String provider = spec.provider().getOrElse(() -> PAIMON);
        if (!provider.equalsIgnoreCase(PAIMON)) {
            throw refused("Tables here are Paimon's, and USING " + provider + " is another kind");
        }
        requireNone(spec.location(), "LOCATION");
        requireNone(spec.serde(), "ROW FORMAT or STORED AS");
        requireNone(spec.collation(), "DEFAULT COLLATION");
        if (spec.external()) {
            throw refused("EXTERNAL is not done here");
        }
        if (!spec.constraints().isEmpty()) {
            throw refused("CONSTRAINT is not done here: the option primary-key names the key's columns");
        }
        if (!spec.optionExpression().options().isEmpty()) {
            throw refused("OPTIONS is not done here: TBLPROPERTIES has the table's options");
        }
    }

    private static void addColumn(Schema.Builder schema, ColumnDefinition column) {
        requireNone(column.generationExpression(), "GENERATED");
        requireNone(column.identityColumnSpec(), "IDENTITY");
        requireNone(column.defaultValue(), "DEFAULT");
        schema.column(
                column.name(),
                PaimonTypes.of(column.dataType(), column.name()).copy(column.nullable()),
                column.comment().getOrElse(() -> null));
    }

    private static String partition(Transform transform) {
        if (!transform.name().equals("identity")) {
            throw refused("A table is partitioned by columns, and " + transform.describe()
                    + " is none: the options bucket and bucket-key give it buckets");
        }
        return String.join(".", transform.references()[0].fieldNames());
    }

    private static void requireNone(Option<?> part, String words) {
        if (part.isDefined()) {
            throw refused(words + " is not done here");
        }
    }

    private static IllegalArgumentException refused(String why) {
        return new IllegalArgumentException(why);
    }

    /** The message without Spark's names of errors and states. */
    private static String firstLine(Exception error) {
        String text = error.getMessage() == null ? error.toString() : error.getMessage().trim();
        return text.split("\n")[0].replaceFirst("^\\[[A-Z0-9_.]+\\] ", "").replaceFirst("\\s*SQLSTATE: \\w{5}.*", "");
    }
}
