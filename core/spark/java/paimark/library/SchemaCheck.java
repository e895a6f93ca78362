package paimark.library;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.options.Options;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.schema.SchemaValidation;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.table.CatalogEnvironment;
import org.apache.paimon.table.FileStoreTableFactory;

/**
 * A program: prints why Paimon would refuse to open a table with a changed schema, or to change it so; nothing if
 * it would not.
 *
 * <p>Standard input is a JSON object with the schemas {@code old} and {@code new}.
 */
public final class SchemaCheck {
    private static final Path NOWHERE = new Path("file:/nowhere");

    private SchemaCheck() {}

    public static void main(String[] none) throws Exception {
        JsonNode given = new ObjectMapper().readTree(System.in);
        TableSchema old = TableSchema.fromJson(given.get("old").toString());
        TableSchema changed = TableSchema.fromJson(given.get("new").toString());
        String why = refusal(old, changed);
        new PrintStream(System.out, true, StandardCharsets.UTF_8).print(why);
    }

    private static String refusal(TableSchema old, TableSchema changed) {
        try {
            requireChangeable(old.options(), changed.options());
        } catch (RuntimeException e) {
            return said(e);
        }
        String now = invalid(changed);
        // A table that Paimon can't open already is not made worse.
        return now.equals(invalid(old)) ? "" : now;
    }

    private static void requireChangeable(Map<String, String> old, Map<String, String> changed) {
        for (Map.Entry<String, String> option : changed.entrySet()) {
            String before = old.get(option.getKey());
            if (!option.getValue().equals(before)) {
                SchemaManager.checkAlterTableOption(old, option.getKey(), before, option.getValue());
            }
        }
        for (String name : old.keySet()) {
            if (!changed.containsKey(name)) {
                SchemaManager.checkResetTableOption(old, name);
            }
        }
    }

    private static String invalid(TableSchema schema) {
        try {
            SchemaValidation.validateTableSchema(schema);
            // What an open table needs: it has no files here.
            FileStoreTableFactory.createWithoutFallbackBranch(LocalFileIO.create(), NOWHERE, schema, new Options(),
                    CatalogEnvironment.empty()).newSnapshotReader();
            return "";
        } catch (RuntimeException e) {
            return said(e);
        }
    }

    private static String said(RuntimeException e) {
        return e.getMessage() == null ? e.toString() : e.getMessage();
    }
}
