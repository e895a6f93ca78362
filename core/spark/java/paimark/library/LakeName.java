package paimark.library;

import org.apache.paimon.fs.Path;
import org.apache.spark.sql.connector.catalog.Identifier;

/**
 * What the name of a table means: {@code t}, {@code t$branch_b}, {@code t$snapshots}, {@code t$branch_b$snapshots}.
 *
 * @param branch the one whose files are read; null for the table's own directory
 * @param isMain whether the name means main, and not a branch by its name
 * @param isAlone whether it means only main's own rows, without those of fallback branches
 * @param system the system table; null for the rows
 */
record LakeName(String database, String table, Path path, String branch, boolean isMain, boolean isAlone, String system) {
    private static final String BRANCH = "branch_";
    private static final String MAIN = "main";

    /** Null: there is no such table or branch. */
    static LakeName of(StoreFiles files, Path warehouse, Identifier wanted) {
        String[] parts = wanted.name().split("\\$", -1);
        if (wanted.namespace().length != 1 || parts.length > 3 || !isSafe(wanted.namespace()[0]) || !isSafe(parts[0])) {
            return null;
        }
        int next = 1;
        String named = MAIN;
        if (parts.length > 1 && parts[1].startsWith(BRANCH)) {
            named = parts[next++].substring(BRANCH.length());
        }
        if (parts.length > next + 1 || !isSafe(named)) {
            return null;
        }
        Path path = new Path(warehouse, wanted.namespace()[0] + ".db/" + parts[0]);
        boolean isMain = named.equals(MAIN);
        boolean isAlone = isMain && next > 1;
        String branch = isMain ? mainBranch(files, path) : named;
        Path root = branch == null ? path : new Path(path, "branch/branch-" + branch);
        if (!files.exists(new Path(root, "schema"))) {
            return null;
        }
        String system = parts.length > next ? parts[next] : null;
        return new LakeName(wanted.namespace()[0], parts[0], path, branch, isMain, isAlone, system);
    }

    /** The table's, without a branch. */
    String fullName() {
        return database + "." + table;
    }

    /** The branch that the main-branch file names; null if the table's own directory is main. */
    private static String mainBranch(StoreFiles files, Path path) {
        String text = files.text(new Path(path, "branch/MAIN-BRANCH"));
        String named = text == null ? "" : text.trim();
        if (!named.isEmpty() && !isSafe(named)) {
            throw new IllegalStateException(path + "/branch/MAIN-BRANCH does not hold the name of a branch");
        }
        return named.isEmpty() ? null : named;
    }

    /** Whether a name is exactly one part of a path. */
    static boolean isSafe(String name) {
        return !name.isBlank() && !name.equals(".") && !name.equals("..")
                && name.chars().noneMatch(c -> c < 32 || c == 127 || c == '/' || c == '\\');
    }
}
