package paimark.scans;

import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** How a table's rows of one key are compared. */
final class MergeRules {
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

    /** Parses the output of {@code layouts.rules_fields}. */
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
