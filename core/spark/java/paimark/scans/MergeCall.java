package paimark.scans;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HashMap;
import java.util.zip.Deflater;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.collection.Iterator;

/**
 * In a task: the newest version of each key survives, unless it retracts.
 *
 * <p>Files are sorted by key. Each is opened when its first key is reached. For an open file the task holds in
 * memory what its reader reads at a time. {@code merging.py} parses the output.
 */
public final class MergeCall implements Function, Serializable {
    private static final int MERGED = 0;
    private static final int MISSING = 1;
    private static final int UNFIT = 2;
    private final MergeRules rules;

    public MergeCall(MergeRules rules) {
        this.rules = rules;
    }

    public Object call(Object given) throws Exception {
        MergeTask task = (MergeTask) given;
        JsonNode description = Json.read(task.json);
        ByteArrayOutputStream answer = new ByteArrayOutputStream();
        DataOutputStream into = new DataOutputStream(answer);
        JsonNode groups = Json.item(description, "groups");
        for (int number = 0; number < groups.size(); number++) {
            JsonNode group = Json.item(groups, number);
            into.writeInt(Json.item(group, "id").asInt());
            Merging merging = new Merging(task, group, rules, bound(description, "low"), bound(description, "high"));
            try {
                merging.merge();
                into.writeByte(MERGED);
                merging.tell(into);
            } catch (Unfit unfit) {
                into.writeByte(UNFIT);
            } catch (Exception error) {
                if (!isMissing(error)) {
                    throw error;
                }
                into.writeByte(MISSING);
                into.writeInt(merging.file.id);
            }
        }
        return answer.toByteArray();
    }

    private Values bound(JsonNode description, String name) throws IOException {
        JsonNode bound = Json.item(description, name);
        return bound.isNull() ? null : Values.of(rules.keyKinds, bound);
    }

    private static boolean isMissing(Throwable error) {
        for (Throwable each = error; each != null; each = each.getCause()) {
            if (each instanceof FileNotFoundException) {
                return true;
            }
        }
        return false;
    }

    static byte[] deflated(byte[] plain) {
        byte[] small = new byte[plain.length];
        Deflater deflater = new Deflater(Deflater.BEST_SPEED);
        deflater.setInput(plain);
        deflater.finish();
        int length = deflater.deflate(small);
        boolean isSmaller = deflater.finished() && length < plain.length;
        deflater.end();
        return isSmaller ? Arrays.copyOf(small, length) : plain;
    }
}

/** Merges one group of files: a heap of files yields the versions of a key one after the other. */
final class Merging {
    private final MergeTask task;
    private final MergeRules rules;
    private final Values low;
    private final Values high;
    private final boolean isNumbered;
    private final MergedFile[] files;
    private final Cursor[] heap;
    private int open;
    /** The file that is being read. */
    MergedFile file;

    Merging(MergeTask task, JsonNode group, MergeRules rules, Values low, Values high) throws IOException {
        this.task = task;
        this.rules = rules;
        this.low = low;
        this.high = high;
        this.isNumbered = Json.item(group, "numbered").asBoolean();
        JsonNode described = Json.item(group, "files");
        this.files = new MergedFile[described.size()];
        this.heap = new Cursor[described.size()];
        for (int number = 0; number < files.length; number++) {
            files[number] = new MergedFile(Json.item(described, number), rules.keyKinds);
        }
    }

    void merge() throws IOException, Unfit {
        Version newest = new Version(rules);
        int next = 0;
        while (open > 0 || next < files.length) {
            if (next < files.length && (open == 0 || files[next].first.compare(heap[0].at.key, false) <= 0)) {
                push(files[next]);
                next++;
                continue;
            }
            Cursor top = heap[0];
            file = top.file;
            if (newest.file == null || newest.key.compare(top.at.key, false) != 0) {
                settle(newest);
                newest.copy(top.at);
            } else if (top.at.isNewer(newest, rules.isDescending)) {
                newest.copy(top.at);
            }
            if (!top.advance()) {
                open--;
                heap[0] = heap[open];
                heap[open] = null;
            }
            sink();
        }
        settle(newest);
    }

    private void push(MergedFile next) throws IOException, Unfit {
        file = next;
        Cursor cursor = new Cursor(next, task.readings, isNumbered, rules, low, high);
        if (!cursor.advance()) {
            return;
        }
        int place = open++;
        while (place > 0 && cursor.at.key.compare(heap[(place - 1) / 2].at.key, false) < 0) {
            heap[place] = heap[(place - 1) / 2];
            place = (place - 1) / 2;
        }
        heap[place] = cursor;
    }

    private static void settle(Version newest) {
        if (newest.file != null && !newest.retracts) {
            ((MergedFile) newest.file).survives(newest.row);
        }
    }

    private void sink() {
        Cursor moved = heap[0];
        int place = 0;
        for (int below = 1; below < open; below = 2 * place + 1) {
            if (below + 1 < open && heap[below + 1].at.key.compare(heap[below].at.key, false) < 0) {
                below++;
            }
            if (moved.at.key.compare(heap[below].at.key, false) <= 0) {
                break;
            }
            heap[place] = heap[below];
            place = below;
        }
        heap[place] = moved;
    }

    void tell(DataOutputStream into) throws IOException {
        into.writeInt(files.length);
        for (int number = 0; number < files.length; number++) {
            files[number].tell(into);
        }
    }
}

/** Reads the versions in a file one after the other. */
final class Cursor {
    private static final int OFTEN = 4096;
    final MergedFile file;
    final Version at;
    private final HashMap readings;
    private final boolean isNumbered;
    private final MergeRules rules;
    private final Values high;
    private final Values before;
    private final TaskContext context = TaskContext$.MODULE$.get();
    // The lower bound; null after the first row that is not below it.
    private Values low;
    private Reading reading;
    private Iterator rows;
    private long place;
    private boolean hasRead;
    private boolean hasBefore;
    private int untilLook = OFTEN;

    Cursor(MergedFile file, HashMap readings, boolean isNumbered, MergeRules rules, Values low, Values high) {
        this.file = file;
        this.readings = readings;
        this.isNumbered = isNumbered;
        this.rules = rules;
        this.low = low;
        this.high = high;
        this.before = new Values(rules.keyKinds);
        this.at = new Version(rules);
        this.at.file = file;
        this.at.age = file.age;
        open(false);
    }

    private void open(boolean isThin) {
        reading = (Reading) readings.get(Reading.name(file.schema, file.format, isNumbered, isThin));
        rows = (Iterator) reading.read.apply(FileReaders.whole(file.path, file.size));
        place = -1;
    }

    /** Moves to the next row that counts. At the end it closes the file and returns false. */
    boolean advance() throws IOException, Unfit {
        while (rows.hasNext()) {
            InternalRow row = (InternalRow) rows.next();
            place++;
            look();
            at.key.read(row, reading.key);
            if (!hasRead) {
                hasRead = true;
                if (at.key.hasNulls()) {
                    // A key is never null: the file is written thin, and has only the row's own columns.
                    close();
                    open(true);
                    continue;
                }
            }
            if (low != null && at.key.compare(low, false) < 0) {
                continue;
            }
            low = null;
            if (high != null && at.key.compare(high, false) >= 0) {
                break;
            }
            if (hasBefore && at.key.compare(before, false) <= 0) {
                throw new Unfit();
            }
            hasBefore = true;
            before.copy(at.key);
            if (counts(row)) {
                return true;
            }
        }
        close();
        return false;
    }

    private void look() {
        untilLook--;
        if (untilLook == 0) {
            untilLook = OFTEN;
            if (context != null) {
                context.killTaskIfInterrupted();
            }
        }
    }

    private boolean counts(InternalRow row) throws Unfit {
        at.row = reading.row < 0 ? place : row.getLong(reading.row);
        file.see(at.row);
        at.retracts = file.mayRetract && Version.retracts(row, reading.kind, file.format);
        if (at.retracts && rules.ignoresDelete) {
            return false;
        }
        at.number = isNumbered ? row.getLong(reading.number) : file.age;
        at.fields.read(row, reading.sequence);
        return true;
    }

    private void close() throws IOException {
        if (rows instanceof Closeable) {
            ((Closeable) rows).close();
        }
    }
}

/** A file of a group: its address, and the bits of the rows that were read from it. */
final class MergedFile {
    private static final int BITS = 64;
    final int id;
    final String path;
    final long size;
    final String schema;
    final String format;
    final int age;
    final boolean mayRetract;
    final Values first;
    private final long lowest;
    private final long highest;
    private long base = -1;
    private long rows;
    private long[] words = new long[0];
    private long[] seen;

    MergedFile(JsonNode file, int[] keyKinds) throws IOException {
        this.id = Json.item(file, "id").asInt();
        this.path = Json.item(file, "path").asText();
        this.size = Json.item(file, "size").asLong();
        this.schema = Json.item(file, "schema").asText();
        this.format = Json.item(file, "format").asText();
        this.age = Json.item(file, "age").asInt();
        this.mayRetract = Json.item(file, "may_retract").asBoolean();
        this.first = Values.of(keyKinds, Json.item(file, "min_key"));
        this.lowest = Json.item(file, "lowest").asLong();
        this.highest = Json.item(file, "highest").asLong();
        // Except in ORC files, rows come in the order of their numbers.
        this.seen = format.equals("orc") ? new long[0] : null;
    }

    /** Records that there is a row with this number. */
    void see(long number) throws Unfit {
        if (number < lowest || number > highest) {
            throw new Unfit();
        }
        rows++;
        long bit = number - lowest;
        if (base < 0) {
            base = seen == null ? bit / BITS * BITS : 0;
        }
        if (seen != null) {
            int word = (int) (bit / BITS);
            seen = grown(seen, word);
            if ((seen[word] >> bit & 1) != 0) {
                throw new Unfit();
            }
            seen[word] |= 1L << bit;
        }
    }

    void survives(long number) {
        long bit = number - lowest - base;
        int word = (int) (bit / BITS);
        words = grown(words, word);
        words[word] |= 1L << bit;
    }

    private static long[] grown(long[] words, int word) {
        return word < words.length ? words : Arrays.copyOf(words, Math.max(word + 1, words.length * 2));
    }

    void tell(DataOutputStream into) throws IOException {
        int used = words.length;
        while (used > 0 && words[used - 1] == 0) {
            used--;
        }
        ByteBuffer plain = ByteBuffer.allocate(used * 8).order(ByteOrder.LITTLE_ENDIAN);
        plain.asLongBuffer().put(words, 0, used);
        byte[] compressed = MergeCall.deflated(plain.array());
        into.writeInt(id);
        into.writeLong(rows);
        into.writeLong(Math.max(base, 0) / BITS);
        into.writeInt(used * 8);
        into.writeInt(compressed.length);
        into.write(compressed);
    }
}

/** The group can't be merged here: rows are out of order, or numbers are invalid or not unique. */
final class Unfit extends Exception {}
