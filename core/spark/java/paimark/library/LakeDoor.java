package paimark.library;

import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Refuses tables whose options ask for other rows than this library would read, which it would do without a word.
 *
 * <p>Paimark's Python decides the same for its own readers ({@code table_options.py}), and a test compares both.
 */
final class LakeDoor {
    /** Options of a later Paimon, and which. A pattern's star stands for a column. */
    private static final Map<String, String> NEWER = Map.of(
            "sequence.snapshot-ordering", "2.0",
            "postpone.merge-on-read", "2.0",
            "fields.*.map.storage-layout", "2.0",
            "blob-view-field", "2.0",
            "data-evolution.row-sidecar.enabled", "2.0",
            "deletion-vectors.merge-on-read", "2.0",
            "primary-key.nullable", "2.1");
    private static final Set<String> NEWEST_MODES = Set.of("default", "latest", "latest-full", "full");
    /** Those that name no state: of speed, order, and branches, which the library obeys. */
    private static final Set<String> OTHER_SCANS = Set.of(
            "scan.fallback-branch", "scan.primary-branch", "scan.fallback-snapshot-branch",
            "scan.fallback-delta-branch", "scan.ignore-lost-files", "scan.ignore-corrupt-files",
            "scan.manifest.parallelism", "scan.max-splits-per-task", "scan.native-plan.enabled",
            "scan.plan-sort-partition", "scan.bounded.watermark");
    private static final String STOCK = "Read it with a stock engine";
    private static final String EACH = "Read the branches one by one: `t$branch_main`, `t$branch_<name>`";

    private final LibraryReads library;

    LakeDoor(LibraryReads library) {
        this.library = library;
    }

    /** {@code branch} is null for the table's own directory, {@code scope} as for {@link LibraryReads#table}. */
    void require(String table, Map<String, String> options, String branch, String scope) {
        options.forEach((option, value) -> {
            String reason = reason(option, value.trim().toLowerCase(Locale.ROOT), branch, scope);
            if (reason != null) {
                throw new IllegalArgumentException(table + " has the option " + option + reason.replace("{value}", value));
            }
        });
    }

    /** Null: it may be read. */
    private String reason(String option, String value, String branch, String scope) {
        String newer = option.replaceFirst("^fields\\..+\\.map\\.", "fields.*.map.");
        if (NEWER.containsKey(newer) && isSet(newer, value) && !library.knows(newer.replace("fields.*.", ""))) {
            return ", of Paimon " + NEWER.get(newer)
                    + ", which Paimon's library here is too old to know. Read it with an engine of that version";
        }
        if (option.equals("file.format") && !library.reads(value)) {
            return " = {value}, which Paimon's library here does not know. Read it with an engine that does";
        }
        if (option.equals("query-auth.enabled") && value.equals("true")) {
            return " = {value}: only its catalog knows which rows and columns may be read. " + STOCK;
        }
        if (option.equals("type") && !value.equals("table") && !value.equals("materialized-table")) {
            return " = {value}: only tables of Paimon's files are read";
        }
        boolean isOwn = scope.equals("root") || value.equals(branch == null ? "main" : branch.toLowerCase(Locale.ROOT));
        if (option.equals("branch") && !isOwn) {
            return " = {value}: stock Spark reads that branch by it. " + EACH;
        }
        if (LibraryReads.STATES.contains(option)) {
            boolean isNewest = option.equals("scan.mode") && NEWEST_MODES.contains(value);
            return !scope.equals("table") || isNewest ? null
                    : " = {value}: stock Paimon then reads another state than the newest. "
                            + "Name the state in the statement: VERSION AS OF or TIMESTAMP AS OF";
        }
        boolean isUnknown = option.startsWith("scan.") && !OTHER_SCANS.contains(option);
        return isUnknown ? " = {value}: its effect on a scan is not known here. " + STOCK : null;
    }

    /** Whether a value asks for anything: most options are switches. */
    private static boolean isSet(String option, String value) {
        boolean isSwitch = !option.startsWith("fields.") && !option.endsWith("-field");
        return isSwitch ? value.equals("true") : !value.isEmpty();
    }
}
