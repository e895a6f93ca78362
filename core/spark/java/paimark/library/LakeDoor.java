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
    /** Without a format that these name the library opens no table. */
    private static final Set<String> FORMATS = Set.of("file.format", "vector.file.format");
    private static final Set<String> MERGING = Set.of("partial-update", "aggregation");
    /** Of the words behind {@code fields.<column>.} those that {@code CoreOptions} lacks. */
    private static final Set<String> OTHER_RULES = Set.of("default-value", "sequence-group", "stats-mode");
    private static final String EACH_COLUMN = "fields.*.";
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
        boolean merges = MERGING.contains(options.getOrDefault("merge-engine", "").trim().toLowerCase(Locale.ROOT));
        options.forEach((option, value) -> {
            String reason = reason(option, value.trim().toLowerCase(Locale.ROOT), branch, scope, merges);
            if (reason != null) {
                throw new IllegalArgumentException(table + " has the option " + option + reason.replace("{value}", value));
            }
        });
    }

    /** Null: it may be read. */
    private String reason(String option, String value, String branch, String scope, boolean merges) {
        for (String newer : NewerPaimon.options()) {
            if (fits(option, newer) && isSet(newer, value) && !library.knows(newer.replace(EACH_COLUMN, ""))) {
                return NewerPaimon.of("option", newer) + ", which Paimon's library here is too old to know. "
                        + NewerPaimon.hint("option", newer);
            }
        }
        if (merges && option.startsWith("fields.") && !isKnownRule(option)) {
            return " = {value}: no reader here merges rows by it. " + STOCK;
        }
        if (FORMATS.contains(option) && !value.isEmpty() && !library.reads(value)) {
            return " = {value}" + unknownFormat(value);
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

    /** To follow a format's name. */
    static String unknownFormat(String format) {
        return NewerPaimon.of("format", format) + ", which Paimon's library here does not know. "
                + NewerPaimon.hint("format", format);
    }

    private static boolean fits(String option, String newer) {
        return newer.startsWith(EACH_COLUMN)
                ? option.startsWith("fields.") && option.endsWith(newer.substring(EACH_COLUMN.length() - 1))
                : option.equals(newer);
    }

    private boolean isKnownRule(String option) {
        String rule = option.substring(option.lastIndexOf('.') + 1);
        return OTHER_RULES.contains(rule) || library.knows(rule);
    }

    /** Whether a value asks for anything: most options are switches. */
    private static boolean isSet(String option, String value) {
        boolean isSwitch = !option.startsWith("fields.") && !option.endsWith("-field");
        return isSwitch ? value.equals("true") : !value.isEmpty();
    }
}
