package paimark.scans;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.util.QuotingUtils$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;

/**
 * Merges the keys of overlapping files in Spark's tasks, by Spark's own readers. {@code MergeCall} merges, in the
 * order of {@code merging/survive.py}; {@code merging.py} describes input and output.
 */
public class KeyMerging {
    private final SparkSession session;
    private final JsonNode rules;
    private final StructType key;
    private final StructType sequence;
    private final HashMap readings = new HashMap();
    private ArrayList fields;

    public KeyMerging(SparkSession session, String rules) throws Exception {
        this.session = session;
        this.rules = Json.read(rules);
        this.key = Json.schema(this.rules, "key");
        this.sequence = Json.schema(this.rules, "sequence");
    }

    /** The output of each task, as bytes. */
    public List merged(List taskTexts) throws Exception {
        ArrayList tasks = new ArrayList();
        for (int number = 0; number < taskTexts.size(); number++) {
            tasks.add(task((String) taskTexts.get(number)));
        }
        JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
        return context.parallelize(tasks, tasks.size()).map(new MergeCall(MergeRules.of(rules))).collect();
    }

    private MergeTask task(String text) throws Exception {
        JsonNode task = Json.read(text);
        HashMap used = new HashMap();
        JsonNode groups = Json.item(task, "groups");
        for (int group = 0; group < groups.size(); group++) {
            JsonNode files = Json.item(Json.item(groups, group), "files");
            for (int file = 0; file < files.size(); file++) {
                // Whether a file is written thin shows only when it is opened.
                read(Json.item(groups, group), Json.item(files, file), false, task, used);
                read(Json.item(groups, group), Json.item(files, file), true, task, used);
            }
        }
        return new MergeTask(text, used);
    }

    private void read(JsonNode group, JsonNode file, boolean isThin, JsonNode task, HashMap used) {
        String schema = Json.item(file, "schema").asText();
        String format = Json.item(file, "format").asText();
        boolean isNumbered = Json.item(group, "numbered").asBoolean();
        String name = Reading.name(schema, format, isNumbered, isThin);
        if (used.containsKey(name)) {
            return;
        }
        JsonNode low = Json.item(task, "low");
        JsonNode high = Json.item(task, "high");
        String whole = name + " " + low + " " + high;
        if (!readings.containsKey(whole)) {
            Reading made = columns(Json.item(Json.item(rules, "columns"), schema), format, isNumbered, isThin);
            made.read = reader(made, format, low, high);
            readings.put(whole, made);
        }
        used.put(name, readings.get(whole));
    }

    private Reading columns(JsonNode names, String format, boolean isNumbered, boolean isThin) {
        Reading reading = new Reading(key.length(), sequence.length());
        fields = new ArrayList();
        for (int place = 0; place < key.length(); place++) {
            JsonNode name = Json.item(Json.item(names, isThin ? "thin" : "key"), place);
            reading.key[place] = added(name.asText(), key.apply(place).dataType());
        }
        for (int place = 0; place < sequence.length(); place++) {
            JsonNode name = Json.item(Json.item(names, "sequence"), place);
            DataType type = sequence.apply(place).dataType();
            reading.sequence[place] = name.isNull() ? -1 : added(name.asText(), type);
        }
        boolean isOrc = format.equals("orc");
        if (isNumbered || isOrc) {
            reading.number = added("_SEQUENCE_NUMBER", DataTypes.LongType);
        }
        reading.kind = added(Version.KIND, Version.kindType(format));
        if (format.equals("parquet")) {
            reading.row = added("_tmp_metadata_row_index", DataTypes.LongType);
        } else if (isOrc) {
            reading.row = reading.number;
        }
        return reading;
    }

    private Function1 reader(Reading reading, String format, JsonNode low, JsonNode high) {
        StructType required = new StructType((StructField[]) fields.toArray(new StructField[0]));
        String first = ((StructField) fields.get(reading.key[0])).name();
        // If the task counts rows to number them, the reader may not skip any.
        scala.collection.immutable.Seq filters =
                reading.row < 0 ? PythonUtils.toSeq(new ArrayList()) : within(first, low, high);
        return FileReaders.of(session, required, format, filters, false);
    }

    private int added(String name, DataType type) {
        for (int place = 0; place < fields.size(); place++) {
            if (((StructField) fields.get(place)).name().equals(name)) {
                return place;
            }
        }
        fields.add(DataTypes.createStructField(name, type, true));
        return fields.size() - 1;
    }

    /** Filters by which a reader skips pages and row groups. The task still checks every row. */
    private scala.collection.immutable.Seq within(String column, JsonNode low, JsonNode high) {
        String name = QuotingUtils$.MODULE$.quoteIfNeeded(column);
        ArrayList filters = new ArrayList();
        Object from = low.isNull() ? null : pushed(Json.item(low, 0));
        Object to = high.isNull() ? null : pushed(Json.item(high, 0));
        if (from != null) {
            filters.add(new GreaterThanOrEqual(name, from));
        }
        if (to != null) {
            filters.add(new LessThanOrEqual(name, to));
        }
        return PythonUtils.toSeq(filters);
    }

    private Object pushed(JsonNode value) {
        DataType type = key.apply(0).dataType();
        if (type instanceof IntegerType) {
            return Integer.valueOf(value.asInt());
        }
        return DataTypes.LongType.equals(type) ? Long.valueOf(value.asLong()) : null;
    }
}
