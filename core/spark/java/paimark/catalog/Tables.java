package paimark.catalog;

import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The catalog of our tables in a session of Spark. It only reads: its tables are those of {@code PreparedTables}.
 *
 * <p>It has no functions, but must be a catalog of functions: otherwise Spark would report that, and not the unknown
 * function, for a word that is misspelled.
 */
public final class Tables extends ReadOnlyCatalog implements FunctionCatalog {
    private String name;
    private volatile PreparedTables prepared;

    public Tables() {
        super("Spark's catalog of these tables only reads them");
    }

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        this.name = name;
    }

    @Override
    public String name() {
        return name;
    }

    public void resolveBy(PreparedTables prepared) {
        this.prepared = prepared;
    }

    /** How many tables are held at present. */
    public int held() {
        return prepared == null ? 0 : prepared.held();
    }

    @Override
    public Table loadTable(Identifier table) throws NoSuchTableException {
        return found(table, prepared == null ? null : prepared.table(written(table), null));
    }

    @Override
    public Table loadTable(Identifier table, String version) throws NoSuchTableException {
        return found(table, prepared == null ? null : prepared.table(written(table), version));
    }

    private static Table found(Identifier name, Table table) throws NoSuchTableException {
        if (table == null) {
            throw new NoSuchTableException(name);
        }
        return table;
    }

    /** The name of a table as it was written: a database may be called as this catalog. */
    private Identifier written(Identifier table) {
        return table.namespace().length == 0 ? Identifier.of(new String[] {name}, table.name()) : table;
    }

    @Override
    public Identifier[] listTables(String[] database) {
        return new Identifier[0];
    }

    @Override
    public String[] defaultNamespace() {
        return new String[0];
    }

    @Override
    public String[][] listNamespaces() {
        return new String[0][];
    }

    @Override
    public String[][] listNamespaces(String[] database) {
        return new String[0][];
    }

    /** Always: whoever chose the database has looked. */
    @Override
    public boolean namespaceExists(String[] database) {
        return true;
    }

    @Override
    public Map<String, String> loadNamespaceMetadata(String[] database) {
        return Map.of();
    }

    @Override
    public Identifier[] listFunctions(String[] database) {
        return new Identifier[0];
    }

    @Override
    public UnboundFunction loadFunction(Identifier function) throws NoSuchFunctionException {
        throw new NoSuchFunctionException(
                Arrays.asList(function.namespace()).isEmpty()
                        ? Identifier.of(new String[] {name}, function.name())
                        : function);
    }
}
