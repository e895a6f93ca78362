package paimark.catalog;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;

/**
 * The tables of the running statement. Python puts them here before Spark looks for them.
 *
 * <p>Each has a name of its own, which is in the statement's plan as a version, or instead of the table's name. The table
 * that a statement changes is also found as it is written.
 */
public final class PreparedTables {
    private final Map<String, Table> byName = new ConcurrentHashMap<>();
    private final Map<List<String>, String> written = new ConcurrentHashMap<>();

    /** {@code parts} are the database and the table as written; empty for a table that only its name finds. */
    public void put(String name, List<String> parts, Table table) {
        byName.put(name, table);
        if (!parts.isEmpty()) {
            written.put(parts, name);
        }
    }

    /** How many tables it holds at present. */
    int held() {
        return byName.size();
    }

    public void remove(String name) {
        byName.remove(name);
        written.values().remove(name);
    }

    /** The table with the name of a state; null if there is none. */
    Table table(Identifier name, String version) {
        if (version != null) {
            return byName.get(version);
        }
        Table named = byName.get(name.name());
        if (named != null) {
            return named;
        }
        String known = written.get(parts(name));
        return known == null ? null : byName.get(known);
    }

    private static List<String> parts(Identifier name) {
        String[] parts = Arrays.copyOf(name.namespace(), name.namespace().length + 1);
        parts[parts.length - 1] = name.name();
        return Arrays.asList(parts);
    }
}
