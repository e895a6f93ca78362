package paimark.scans;

import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Serializable;
import java.util.HashMap;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Function1;

/** The input of a task in JSON, and how it reads files, by schema and format. */
public final class MergeTask implements Serializable {
    public final String json;
    public final HashMap readings;

    public MergeTask(String json, HashMap readings) {
        this.json = json;
        this.readings = readings;
    }
}

/**
 * How to read files of one schema: a reader, and the indexes of the columns in its rows, -1 for a missing one. If
 * the column of row numbers is missing, the task counts rows.
 */
final class Reading implements Serializable {
    public final int[] key;
    public final int[] sequence;
    public int number = -1;
    public int kind;
    public int row = -1;
    public Function1 read;

    public Reading(int keys, int fields) {
        this.key = new int[keys];
        this.sequence = new int[fields];
    }

    public static String name(String schema, String format, boolean isNumbered, boolean isThin) {
        return schema + " " + format + (isNumbered ? " numbered" : "") + (isThin ? " thin" : "");
    }
}

final class MergeRules implements Serializable {
    public final int[] keyKinds;
    public final int[] sequenceKinds;
    public final boolean isDescending;
    public final boolean ignoresDelete;

    private MergeRules(int[] keyKinds, int[] sequenceKinds, boolean isDescending, boolean ignoresDelete) {
        this.keyKinds = keyKinds;
        this.sequenceKinds = sequenceKinds;
        this.isDescending = isDescending;
        this.ignoresDelete = ignoresDelete;
    }

    /** Parses the output of {@code merging.rules_fields}. */
    public static MergeRules of(JsonNode rules) {
        return new MergeRules(
                Values.kinds(Json.schema(rules, "key")),
                Values.kinds(Json.schema(rules, "sequence")),
                Json.item(rules, "descending").asBoolean(),
                Json.item(rules, "ignore_delete").asBoolean());
    }
}

final class Json {
    public static JsonNode read(String text) throws IOException {
        ObjectMapper mapper = new ObjectMapper();
        mapper.getFactory().setStreamReadConstraints(
                StreamReadConstraints.builder().maxStringLength(Integer.MAX_VALUE).build());
        return (JsonNode) (Object) mapper.readTree(text);
    }

    public static JsonNode item(JsonNode list, int number) {
        return (JsonNode) (Object) list.get(number);
    }

    public static JsonNode item(JsonNode object, String name) {
        return (JsonNode) (Object) object.get(name);
    }

    public static StructType schema(JsonNode object, String name) {
        return (StructType) DataType.fromJson(item(object, name).toString());
    }
}
