package paimark.library;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.paimon.Snapshot;
import org.apache.paimon.fs.Path;

/**
 * The states of one root of a table: its snapshots, and those that only a tag or a savepoint keeps.
 *
 * <p>A version or a time is resolved as Paimark's Python does it, which the tests hold. Where Python proves by
 * manifests that a kept snapshot is of this history, this class looks only at times, and refuses when in doubt.
 */
final class LakeStates {
    /** Those of Paimark's table of savepoints, and where the record of a savepoint has them. */
    static final List<String> SAVEPOINT_COLUMNS =
            List.of("savepoint_id", "saved_snapshot_id", "schema_id", "save_time", "record_count");

    private static final List<String> SAVEPOINT_FIELDS =
            List.of("id", "savedSnapshotId", "schemaId", "saveTime", "recordCount");
    private static final String TAG = "tag-";
    private static final String SNAPSHOT = "snapshot-";
    private static final String SAVEPOINT_TAG = "savepoint.";
    private static final String READ_TAG = "paimark.read.";
    /** What stands in the place of the snapshots while a branch is main. */
    private static final long BARRIER = 9_000_000_000L;
    private static final Pattern VERSION = Pattern.compile("(snapshot\\.|savepoint\\.|watermark-|)(-?[0-9]{1,18})");

    private final StoreFiles files;
    private final Path table;
    private final Path root;
    private final String name;

    /** {@code branch} is null for the table's own directory; {@code name} is for messages. */
    LakeStates(StoreFiles files, Path table, String branch, String name) {
        this.files = files;
        this.table = table;
        this.root = branch == null ? table : new Path(table, "branch/branch-" + branch);
        this.name = name;
    }

    /** Null: the table has none. */
    Snapshot latest() {
        List<Long> ids = snapshotIds();
        return ids.isEmpty() ? null : snapshot(ids.get(ids.size() - 1));
    }

    Snapshot version(String asked) {
        String text = asked.trim();
        // A tag wins over a snapshot of that number, as in Paimon; only the full words win over a tag.
        Matcher words = VERSION.matcher(text);
        boolean isVersion = words.matches();
        if (isVersion && (words.group(1).startsWith("snapshot") || words.group(1).startsWith("savepoint"))) {
            return numbered(words.group(1), Long.parseLong(words.group(2)));
        }
        Snapshot tag = tag(text);
        if (tag != null) {
            return tag;
        }
        Matcher lowered = VERSION.matcher(text.toLowerCase(java.util.Locale.ROOT));
        if (!lowered.matches()) {
            throw none(name + " has no version " + asked);
        }
        return numbered(lowered.group(1), Long.parseLong(lowered.group(2)));
    }

    /** The newest state at or before a time, in milliseconds since 1970. */
    Snapshot at(long millis) {
        List<Long> ids = snapshotIds();
        Snapshot found = lastAt(ids, millis);
        Snapshot earliest = ids.isEmpty() ? null : snapshotIfThere(ids.get(0));
        for (Snapshot kept : tags()) {
            if (kept.timeMillis() <= millis && (found == null || kept.timeMillis() > found.timeMillis())) {
                found = kept;
            }
            earliest = earliest == null || kept.timeMillis() < earliest.timeMillis() ? kept : earliest;
        }
        if (found == null) {
            String since = earliest == null
                    ? there(ids)
                    : "the earliest state is of " + Instant.ofEpochMilli(earliest.timeMillis());
            throw none(name + " has nothing as old as " + Instant.ofEpochMilli(millis) + ": " + since);
        }
        return found;
    }

    /** The columns of each savepoint whose tag this root holds, by number. */
    List<Object[]> savepoints() {
        TreeMap<Long, Object[]> found = new TreeMap<>();
        for (String each : names("tag")) {
            if (each.matches(Pattern.quote(TAG + SAVEPOINT_TAG) + "[0-9]{1,18}")) {
                long number = Long.parseLong(each.substring((TAG + SAVEPOINT_TAG).length()));
                JsonNode saved = json(new Path(table, "savepoint/savepoint-" + number));
                if (saved != null) {
                    found.put(number, SAVEPOINT_FIELDS.stream().map(field -> saved.get(field).asLong()).toArray());
                }
            }
        }
        return new ArrayList<>(found.values());
    }

    /** The last snapshot at or before a time, by halves, as Paimon looks for it: commit times grow with the ids. */
    private Snapshot lastAt(List<Long> ids, long millis) {
        Snapshot found = null;
        int low = 0;
        int high = ids.size() - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            Snapshot each = snapshotIfThere(ids.get(middle));
            // One that has just expired is older than all that are left.
            if (each == null || each.timeMillis() <= millis) {
                found = each == null ? found : each;
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return found;
    }

    private Snapshot numbered(String kind, long number) {
        switch (kind) {
            case "savepoint.":
                return savepoint(number);
            case "watermark-":
                return watermark(number);
            default:
                Snapshot live = snapshotIfThere(number);
                return live != null ? live : expired(number);
        }
    }

    private Snapshot savepoint(long number) {
        Snapshot tag = tag(SAVEPOINT_TAG + number);
        JsonNode saved = json(new Path(table, "savepoint/savepoint-" + number));
        if (tag == null || saved == null) {
            if (tag != null) {
                return tag;
            }
            throw none(name + " has no savepoint " + number);
        }
        if (saved.get("savedSnapshotId").asLong() != tag.id() || saved.get("snapshotTime").asLong() != tag.timeMillis()) {
            throw new IllegalStateException(
                    "Savepoint " + number + " of " + name + " and its tag are of two snapshots. Run `paimark doctor`.");
        }
        return tag;
    }

    /** The earliest snapshot whose watermark is at or after this one. */
    private Snapshot watermark(long watermark) {
        for (long id : snapshotIds()) {
            Snapshot each = snapshotIfThere(id);
            if (each != null && each.watermark() != null && each.watermark() >= watermark) {
                return each;
            }
        }
        throw none(name + " has no snapshot with a watermark at or after " + watermark);
    }

    /** An expired snapshot that a tag keeps, if it surely lay between those that are left. */
    private Snapshot expired(long number) {
        List<Long> ids = snapshotIds();
        TreeMap<String, Snapshot> kept = new TreeMap<>();
        for (Snapshot each : tags()) {
            if (each.id() == number) {
                kept.put(each.baseManifestList() + each.deltaManifestList(), each);
            }
        }
        if (kept.size() == 1 && !ids.isEmpty() && number < ids.get(0)) {
            Snapshot only = kept.firstEntry().getValue();
            Snapshot above = snapshotIfThere(ids.get(0));
            if (above != null && only.timeMillis() <= above.timeMillis()) {
                return only;
            }
        }
        throw none(name + " has no snapshot " + number + ": " + there(ids));
    }

    /** As {@code paimark.core.table.lineage.lineage.said_ids}. */
    private static String there(List<Long> ids) {
        if (ids.size() < 2) {
            return ids.isEmpty() ? "it has none yet" : "it has only " + ids.get(0);
        }
        return "it has " + ids.get(0) + " to " + ids.get(ids.size() - 1);
    }

    /** Null: there is no such tag. */
    private Snapshot tag(String tag) {
        if (tag.isEmpty() || tag.contains("/") || tag.equals(".") || tag.equals("..")) {
            return null;
        }
        return record(new Path(root, "tag/" + TAG + tag));
    }

    /** The snapshots of all tags but those of readers; a tag that can't be read is left out. */
    private List<Snapshot> tags() {
        List<Snapshot> found = new ArrayList<>();
        for (String each : names("tag")) {
            if (each.startsWith(TAG) && !each.startsWith(TAG + READ_TAG)) {
                try {
                    Snapshot snapshot = record(new Path(root, "tag/" + each));
                    if (snapshot != null) {
                        found.add(snapshot);
                    }
                } catch (RuntimeException unreadable) {
                    // As for Paimon's own readers: another tag or snapshot serves.
                }
            }
        }
        return found;
    }

    private List<Long> snapshotIds() {
        Set<Long> ids = new HashSet<>();
        for (String each : names("snapshot")) {
            if (each.matches(SNAPSHOT + "[0-9]{1,18}")) {
                ids.add(Long.parseLong(each.substring(SNAPSHOT.length())));
            }
        }
        ids.remove(BARRIER);
        List<Long> sorted = new ArrayList<>(ids);
        sorted.sort(null);
        return sorted;
    }

    private Snapshot snapshot(long id) {
        Snapshot found = snapshotIfThere(id);
        if (found == null) {
            throw none("Snapshot " + id + " of " + name + " expired while it was opened. Run it again.");
        }
        return found;
    }

    private Snapshot snapshotIfThere(long id) {
        return record(new Path(root, "snapshot/" + SNAPSHOT + id));
    }

    private Snapshot record(Path path) {
        String text = files.text(path);
        return text == null ? null : Snapshot.fromJson(text);
    }

    private JsonNode json(Path path) {
        String text = files.text(path);
        try {
            return text == null ? null : new ObjectMapper().readTree(text);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private List<String> names(String folder) {
        return files.names(new Path(root, folder), each -> true);
    }

    private static IllegalArgumentException none(String what) {
        return new IllegalArgumentException(what + ". `paimark` shows what there is.");
    }
}
