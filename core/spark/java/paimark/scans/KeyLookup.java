package paimark.scans;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedUnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.types.DataTypeUtils$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.SparkSession$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.ThreadUtils$;
import scala.collection.immutable.Seq;

/**
 * Looks up the rows of a few keys or values by Spark's own readers, in this process, without a job.
 *
 * <p>For each key it takes the newest version, in the order of {@code merging/survive.py}. {@code lookups.py}
 * describes the input. Never on executors.
 */
public class KeyLookup {
    private static final int MOST_SHAPES = 64;
    private final SparkSession session;
    private final HashMap shapes = new HashMap();
    private final ParquetFooters footers = new ParquetFooters();
    private volatile Lookup current;

    public KeyLookup(SparkSession session) {
        this.session = session;
    }

    /** The rows as a local relation; null if too many rows have to be read, or are found. */
    public Dataset rows(String shape, String question) throws Exception {
        if (shapes.size() > MOST_SHAPES) {
            shapes.clear();
        }
        if (!shapes.containsKey(shape)) {
            shapes.put(shape, new Shape(Json.read(shape)));
        }
        Shape known = (Shape) shapes.get(shape);
        ArrayList found;
        try {
            current = new Lookup(session, known, footers, Json.read(question));
            found = current.rows();
        } finally {
            current = null;
        }
        if (found == null) {
            return null;
        }
        LocalRelation rows =
                new LocalRelation(
                        (Seq) DataTypeUtils$.MODULE$.toAttributes(known.table),
                        PythonUtils.toSeq(found),
                        false,
                        scala.Option.apply(null));
        rows.setAnalyzed();
        return Dataset.ofRows(session, rows);
    }

    /** Makes a running lookup fail, if there is one. Any thread may call this. */
    public void stop() {
        Lookup lookup = current;
        if (lookup != null) {
            lookup.stop();
        }
    }
}

/** The part that many questions share: the columns, and the layout of files of each schema. */
final class Shape {
    final StructType table;
    final StructType constants;
    final StructType conditions;
    final int[] conditionKinds;
    final MergeRules rules;
    final HashMap layouts = new HashMap();

    Shape(JsonNode shape) {
        table = Json.schema(shape, "table");
        constants = Json.schema(shape, "constants");
        conditions = Json.schema(shape, "conditions");
        conditionKinds = Values.kinds(conditions);
        JsonNode merging = Json.item(shape, "rules");
        rules = merging.isNull() ? null : MergeRules.of(merging);
        JsonNode each = Json.item(shape, "layouts");
        for (int number = 0; number < each.size(); number++) {
            Layout layout = new Layout(Json.item(each, number));
            layouts.put(layout.name, layout);
        }
    }
}

/** A version of a key, or a row of a table without keys, with the table's columns. */
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
    private static final ExecutorService THREADS =
            ThreadUtils$.MODULE$.newDaemonCachedThreadPool(
                    "lookup", Math.min(Runtime.getRuntime().availableProcessors(), 8), 60);

    final SparkSession session;
    final Shape shape;
    final WantedColumn[] wanted;
    final AtomicLong left;
    final AtomicLong room;
    final int mostFound;
    private volatile boolean isStopped;
    private final JsonNode files;
    private final ParquetFooters footers;
    private final HashMap readers = new HashMap();
    private final ArrayList newest = new ArrayList();

    Lookup(SparkSession session, Shape shape, ParquetFooters footers, JsonNode question) throws IOException {
        this.session = session;
        this.shape = shape;
        this.footers = footers;
        this.files = Json.item(question, "files");
        this.left = new AtomicLong(Json.item(question, "most_read").asLong());
        this.room = new AtomicLong(Json.item(question, "most_bytes").asLong());
        this.mostFound = Json.item(question, "most_found").asInt();
        JsonNode values = Json.item(question, "values");
        wanted = new WantedColumn[values.size()];
        for (int column = 0; column < wanted.length; column++) {
            wanted[column] = new WantedColumn(shape.conditionKinds[column], Json.item(values, column));
        }
    }

    void stop() {
        isStopped = true;
        left.set(Long.MIN_VALUE / 2);
    }

    /** The rows; null if they are too many. */
    ArrayList rows() throws Exception {
        ArrayList found = found();
        if (isStopped) {
            throw new InterruptedIOException("nobody waits for the rows any more");
        }
        for (int number = 0; number < found.size(); number++) {
            FoundRow each = (FoundRow) found.get(number);
            if (each.version == null) {
                newest.add(each);
            } else if (!(each.version.retracts && shape.rules.ignoresDelete)) {
                take(each);
            }
        }
        if (left.get() < 0 || newest.size() > mostFound) {
            return null;
        }
        ArrayList rows = new ArrayList();
        for (int number = 0; number < newest.size(); number++) {
            InternalRow row = ((FoundRow) newest.get(number)).row;
            if (row != null) {
                rows.add(row);
            }
        }
        return rows;
    }

    /** All versions in all files, in the order of the files. */
    private ArrayList found() throws Exception {
        ArrayList found = new ArrayList();
        if (files.size() == 1) {
            found.addAll(new FileLookup(this, Json.item(files, 0)).found());
            return found;
        }
        ArrayList lookups = new ArrayList();
        for (int number = 0; number < files.size(); number++) {
            lookups.add(new FileLookup(this, Json.item(files, number)));
        }
        // If this thread is interrupted, the lookups are cancelled too.
        List done = THREADS.invokeAll(lookups);
        for (int number = 0; number < done.size(); number++) {
            found.addAll((ArrayList) ((Future) done.get(number)).get());
        }
        return found;
    }

    /** Adds a version, unless a newer one of its key is known; replaces an older one. */
    private void take(FoundRow found) {
        for (int number = 0; number < newest.size(); number++) {
            FoundRow known = (FoundRow) newest.get(number);
            if (known.group == found.group
                    && known.version != null
                    && known.version.key.compare(found.version.key, false) == 0) {
                if (found.version.isNewer(known.version, shape.rules.isDescending)) {
                    newest.set(number, found);
                }
                return;
            }
        }
        newest.add(found);
    }

    synchronized FileReader reader(String layout) throws Exception {
        if (!readers.containsKey(layout)) {
            readers.put(layout, new FileReader(session, (Layout) shape.layouts.get(layout), wanted, footers));
        }
        return (FileReader) readers.get(layout);
    }
}

/** The lookup in one file. */
final class FileLookup implements Callable {
    private final Lookup lookup;
    private final JsonNode file;
    private final ClassLoader loader = Thread.currentThread().getContextClassLoader();

    FileLookup(Lookup lookup, JsonNode file) {
        this.lookup = lookup;
        this.file = file;
    }

    public Object call() throws Exception {
        Thread.currentThread().setContextClassLoader(loader);
        // Readers get settings from the active session, as in tasks.
        SparkSession$.MODULE$.setActiveSession(lookup.session);
        return found();
    }

    ArrayList found() throws Exception {
        String thin = Json.item(file, "thin").asText();
        ArrayList found = found(lookup.reader(Json.item(file, "layout").asText()), !thin.isEmpty());
        // A file written thin has no extra key columns, only the row's own.
        return found == null ? found(lookup.reader(thin), false) : found;
    }

    /** The versions found; null if the file {@code mayBeThin} and lacks the key columns. */
    private ArrayList found(FileReader reader, boolean mayBeThin) throws Exception {
        Layout layout = reader.layout;
        JsonNode encoded = Json.item(file, "bits");
        FileBits bits = encoded.isNull() ? null : new FileBits(encoded.binaryValue());
        UnsafeProjection projection = null;
        ArrayList found = new ArrayList();
        MatchingRows rows =
                new MatchingRows(
                        reader.open(Json.item(file, "address").asText(), Json.item(file, "size").asLong()),
                        lookup.wanted,
                        layout.conditions,
                        mayBeThin ? layout.key : new int[0],
                        layout.sorted,
                        lookup.left);
        try {
            for (InternalRow row = rows.next(); row != null && found.size() <= lookup.mostFound; row = rows.next()) {
                if (bits != null && !bits.isSet(row.getLong(layout.row))) {
                    continue;
                }
                FoundRow each = new FoundRow(Json.item(file, "group").asInt(), version(layout, row));
                found.add(each);
                if (each.version == null || !each.version.retracts) {
                    if (projection == null) {
                        projection = projection(layout);
                    }
                    UnsafeRow made = projection.apply(row).copy();
                    each.row = made;
                    if (lookup.room.addAndGet(-made.getSizeInBytes()) < 0) {
                        // Not `too much` for all questions of this kind: rows of other keys may be smaller.
                        throw new IOException("the rows are too big to be kept");
                    }
                }
            }
            return rows.isWithout() ? null : found;
        } finally {
            rows.close();
        }
    }

    private Version version(Layout layout, InternalRow row) {
        if (layout.key.length == 0) {
            return null;
        }
        Version version = new Version(lookup.shape.rules);
        version.age = Json.item(file, "age").asInt();
        version.key.read(row, layout.key);
        version.fields.read(row, layout.sequence);
        boolean isNumbered = Json.item(file, "numbered").asBoolean();
        version.number = isNumbered ? row.getLong(layout.number) : version.age;
        version.retracts = Json.item(file, "may_retract").asBoolean() && Version.retracts(row, layout.kind);
        return version;
    }

    /** A projection from the file's row to the table's. */
    private UnsafeProjection projection(Layout layout) {
        StructType table = lookup.shape.table;
        ArrayList columns = new ArrayList();
        for (int place = 0; place < table.length(); place++) {
            columns.add(column(layout, table.apply(place).dataType(), Json.item(layout.made, place)));
        }
        return InterpretedUnsafeProjection$.MODULE$.createProjection(PythonUtils.toSeq(columns));
    }

    private Expression column(Layout layout, DataType type, JsonNode from) {
        if (from.isNull()) {
            return new Literal(null, type);
        }
        int place = Json.item(from, 1).asInt();
        if (Json.item(from, 0).asText().equals("constant")) {
            JsonNode text = Json.item(Json.item(file, "constants"), place);
            return new Literal(text.isNull() ? null : Scans.value(type, text.asText()), type);
        }
        DataType read = layout.columns.apply(place).dataType();
        BoundReference column = new BoundReference(place, read, true);
        return read.equals(type) ? (Expression) column : (Expression) Cast$.MODULE$.apply(column, type, true);
    }
}
