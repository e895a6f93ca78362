import com.fasterxml.jackson.databind.JsonNode;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.paths.SparkPath$;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedUnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.types.DataTypeUtils$;
import org.apache.spark.sql.catalyst.util.QuotingUtils$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;

/**
 * The rows of a few keys, or with a few values, read here by Spark's own readers: no job is started.
 *
 * <p>Of each key the newest version counts, in the order that {@code merging/survive.py} has. {@code lookups.py}
 * says what is told. Compiled where Spark runs (Janino: no lambdas, no generics), never on executors.
 */
public class KeyLookup {
    private static final int MOST_SHAPES = 64;
    private final SparkSession session;
    private final HashMap shapes = new HashMap();

    public KeyLookup(SparkSession session) {
        this.session = session;
    }

    /** A local relation; null when more rows have to be looked at or are found than are worth it here. */
    public Dataset rows(String shape, String asked) throws Exception {
        if (shapes.size() > MOST_SHAPES) {
            shapes.clear();
        }
        if (!shapes.containsKey(shape)) {
            shapes.put(shape, new Shape(Json.read(shape)));
        }
        Shape known = (Shape) shapes.get(shape);
        ArrayList found = new Lookup(session, known, Json.read(asked)).rows();
        return found == null
                ? null
                : Dataset.ofRows(
                        session,
                        new LocalRelation(
                                DataTypeUtils$.MODULE$.toAttributes(known.table),
                                PythonUtils.toSeq(found),
                                false,
                                scala.Option.apply(null)));
    }
}

/** What does not change from one question to the next: columns, and how files of each schema hold them. */
final class Shape {
    final StructType table;
    final StructType constants;
    final StructType conditions;
    final int[] conditionKinds;
    final MergeRules rules;
    final HashMap layouts = new HashMap();

    Shape(JsonNode told) {
        table = schema(told, "table");
        constants = schema(told, "constants");
        conditions = schema(told, "conditions");
        conditionKinds = Values.kinds(conditions);
        JsonNode merging = Json.item(told, "rules");
        rules =
                merging.isNull()
                        ? null
                        : new MergeRules(
                                Values.kinds(schema(merging, "key")),
                                Values.kinds(schema(merging, "sequence")),
                                Json.item(merging, "descending").asBoolean(),
                                Json.item(merging, "ignore_delete").asBoolean());
        JsonNode each = Json.item(told, "layouts");
        for (int number = 0; number < each.size(); number++) {
            Layout layout = new Layout(Json.item(each, number));
            layouts.put(layout.name, layout);
        }
    }

    static StructType schema(JsonNode told, String name) {
        return (StructType) DataType.fromJson(Json.item(told, name).toString());
    }
}

/** Which columns of files are read, and where in their rows what is: -1 for what is not there. */
final class Layout {
    final String name;
    final String format;
    final StructType columns;
    final int[] key;
    final int[] sequence;
    final int number;
    final int kind;
    final int[] conditions;
    final JsonNode made;

    Layout(JsonNode told) {
        name = Json.item(told, "name").asText();
        format = Json.item(told, "format").asText();
        columns = Shape.schema(told, "columns");
        key = places(Json.item(told, "key"));
        sequence = places(Json.item(told, "sequence"));
        number = Json.item(told, "number").asInt();
        kind = Json.item(told, "kind").asInt();
        conditions = places(Json.item(told, "conditions"));
        made = Json.item(told, "made");
    }

    private static int[] places(JsonNode told) {
        int[] places = new int[told.size()];
        for (int each = 0; each < places.length; each++) {
            places[each] = Json.item(told, each).asInt();
        }
        return places;
    }
}

/** A version of a key, or a row of a table without keys: its columns are the table's. */
final class FoundRow {
    final int group;
    final Version version;
    InternalRow row;

    FoundRow(int group, Version version) {
        this.group = group;
        this.version = version;
    }
}

/** One question. */
final class Lookup {
    private final SparkSession session;
    private final Shape shape;
    private final JsonNode files;
    private final Object[][] wanted;
    private final Values[] at;
    private final HashMap readers = new HashMap();
    private final ArrayList found = new ArrayList();
    private final int mostFound;
    private long left;

    Lookup(SparkSession session, Shape shape, JsonNode asked) throws IOException {
        this.session = session;
        this.shape = shape;
        this.files = Json.item(asked, "files");
        this.left = Json.item(asked, "most_read").asLong();
        this.mostFound = Json.item(asked, "most_found").asInt();
        JsonNode values = Json.item(asked, "values");
        wanted = new Object[values.size()][];
        at = new Values[wanted.length];
        for (int column = 0; column < wanted.length; column++) {
            int[] kind = new int[] {shape.conditionKinds[column]};
            at[column] = new Values(kind);
            JsonNode some = Json.item(values, column);
            wanted[column] = new Object[some.size()];
            for (int number = 0; number < some.size(); number++) {
                wanted[column][number] = Values.of(kind, Json.item(some, number));
            }
        }
    }

    /** Null when it is too much. */
    ArrayList rows() throws Exception {
        for (int number = 0; number < files.size(); number++) {
            JsonNode file = Json.item(files, number);
            String thin = Json.item(file, "thin").asText();
            if (!read(file, (Layout) shape.layouts.get(Json.item(file, "layout").asText()), !thin.isEmpty())) {
                // A file written thin holds its key as the row's own columns only.
                read(file, (Layout) shape.layouts.get(thin), false);
            }
            if (left < 0 || found.size() > mostFound) {
                return null;
            }
        }
        ArrayList rows = new ArrayList();
        for (int number = 0; number < found.size(); number++) {
            InternalRow row = ((FoundRow) found.get(number)).row;
            if (row != null) {
                rows.add(row);
            }
        }
        return rows;
    }

    /** False for a file that does not hold the columns of the key, when it `mayBeThin`. */
    private boolean read(JsonNode file, Layout layout, boolean mayBeThin) throws Exception {
        boolean isMerged = layout.key.length > 0;
        int group = Json.item(file, "group").asInt();
        boolean mayRetract = Json.item(file, "may_retract").asBoolean();
        boolean isNumbered = Json.item(file, "numbered").asBoolean();
        Version version = isMerged ? new Version(shape.rules) : null;
        if (isMerged) {
            version.age = Json.item(file, "age").asInt();
        }
        UnsafeProjection projection = null;
        Iterator rows = (Iterator) reader(layout).apply(split(file));
        try {
            boolean isFirst = true;
            while (rows.hasNext() && left >= 0 && found.size() <= mostFound) {
                InternalRow row = (InternalRow) rows.next();
                left--;
                if (isFirst && mayBeThin && hasNulls(row, layout.key)) {
                    return false;
                }
                isFirst = false;
                if (!isWanted(row, layout.conditions)) {
                    continue;
                }
                if (isMerged) {
                    version.key.read(row, layout.key);
                    version.fields.read(row, layout.sequence);
                    version.number = isNumbered ? row.getLong(layout.number) : version.age;
                    version.retracts = mayRetract && retracts(row, layout.kind);
                }
                FoundRow place = isMerged ? taken(group, version) : added(group, null);
                if (place != null && !(isMerged && version.retracts)) {
                    if (projection == null) {
                        projection = projection(layout, Json.item(file, "constants"));
                    }
                    place.row = projection.apply(row).copy();
                }
            }
        } finally {
            if (rows instanceof Closeable) {
                ((Closeable) rows).close();
            }
        }
        return true;
    }

    private static boolean retracts(InternalRow row, int place) {
        int kind = 0;
        if (!row.isNullAt(place)) {
            kind = row.getByte(place);
        }
        return kind == 1 || kind == 3;
    }

    private static boolean hasNulls(InternalRow row, int[] places) {
        for (int each = 0; each < places.length; each++) {
            if (row.isNullAt(places[each])) {
                return true;
            }
        }
        return false;
    }

    private boolean isWanted(InternalRow row, int[] places) {
        for (int column = 0; column < wanted.length; column++) {
            at[column].read(row, new int[] {places[column]});
            if (at[column].hasNulls() || !isAmong(at[column], wanted[column])) {
                return false;
            }
        }
        return true;
    }

    private static boolean isAmong(Values value, Object[] some) {
        for (int number = 0; number < some.length; number++) {
            if (value.compare((Values) some[number], false) == 0) {
                return true;
            }
        }
        return false;
    }

    /** Where the version's row belongs, null when a newer one is known or when it counts for nothing. */
    private FoundRow taken(int group, Version version) {
        if (version.retracts && shape.rules.ignoresDelete) {
            return null;
        }
        for (int number = 0; number < found.size(); number++) {
            FoundRow known = (FoundRow) found.get(number);
            if (known.group == group && known.version != null && known.version.key.compare(version.key, false) == 0) {
                if (!version.isNewer(known.version, shape.rules.isDescending)) {
                    return null;
                }
                known.version.copy(version);
                known.row = null;
                return known;
            }
        }
        Version own = new Version(shape.rules);
        own.copy(version);
        return added(group, own);
    }

    private FoundRow added(int group, Version version) {
        FoundRow made = new FoundRow(group, version);
        found.add(made);
        return made;
    }

    /** From a file's row to the table's. */
    private UnsafeProjection projection(Layout layout, JsonNode constants) {
        ArrayList columns = new ArrayList();
        for (int place = 0; place < shape.table.length(); place++) {
            DataType type = shape.table.apply(place).dataType();
            JsonNode from = Json.item(layout.made, place);
            columns.add(column(layout, constants, type, from));
        }
        return InterpretedUnsafeProjection$.MODULE$.createProjection(PythonUtils.toSeq(columns));
    }

    private Expression column(Layout layout, JsonNode constants, DataType type, JsonNode from) {
        if (from.isNull()) {
            return new Literal(null, type);
        }
        int place = Json.item(from, 1).asInt();
        if (Json.item(from, 0).asText().equals("constant")) {
            JsonNode text = Json.item(constants, place);
            return new Literal(text.isNull() ? null : Scans.value(type, text.asText()), type);
        }
        DataType read = layout.columns.apply(place).dataType();
        BoundReference column = new BoundReference(place, read, true);
        return read.equals(type) ? (Expression) column : (Expression) Cast$.MODULE$.apply(column, type, true);
    }

    private static PartitionedFile split(JsonNode file) {
        long size = Json.item(file, "size").asLong();
        return new PartitionedFile(
                new GenericInternalRow(new Object[0]),
                SparkPath$.MODULE$.fromPath(new Path(Json.item(file, "address").asText())),
                0L,
                size,
                new String[0],
                0L,
                size,
                PythonUtils.toScalaMap(new HashMap()));
    }

    private Function1 reader(Layout layout) {
        if (!readers.containsKey(layout.name)) {
            HashMap options = new HashMap();
            options.put("returning_batch", "false");
            options.put("datetimeRebaseMode", "CORRECTED");
            options.put("int96RebaseMode", "CORRECTED");
            scala.collection.immutable.Map given = PythonUtils.toScalaMap(options);
            Configuration conf = session.sessionState().newHadoopConfWithOptions(given);
            FileFormat files =
                    layout.format.equals("parquet")
                            ? (FileFormat) new ParquetFileFormat()
                            : (FileFormat) new OrcFileFormat();
            readers.put(
                    layout.name,
                    files.buildReaderWithPartitionValues(
                            session,
                            layout.columns,
                            new StructType(),
                            layout.columns,
                            filters(layout),
                            given,
                            conf));
        }
        return (Function1) readers.get(layout.name);
    }

    /** What lets a reader pass over pages and row groups; rows are looked at all the same. */
    private scala.collection.immutable.Seq filters(Layout layout) {
        ArrayList filters = new ArrayList();
        for (int column = 0; column < wanted.length; column++) {
            StructField field = layout.columns.apply(layout.conditions[column]);
            Object[] values = new Object[wanted[column].length];
            boolean isPushed = true;
            boolean isDateInOrc = field.dataType() instanceof DateType && layout.format.equals("orc");
            for (int number = 0; number < values.length; number++) {
                // What ORC takes for a date depends on the session.
                values[number] = isDateInOrc ? null : ((Values) wanted[column][number]).pushed(field.dataType());
                isPushed &= values[number] != null;
            }
            String name = QuotingUtils$.MODULE$.quoteIfNeeded(field.name());
            if (isPushed) {
                filters.add(values.length == 1 ? (Object) new EqualTo(name, values[0]) : new In(name, values));
            }
        }
        return PythonUtils.toSeq(filters);
    }
}
