package paimark.catalog;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;

/** A catalog that refuses every change, in one sentence. */
public abstract class ReadOnlyCatalog implements TableCatalog, SupportsNamespaces {
    private final String refusal;

    protected ReadOnlyCatalog(String refusal) {
        this.refusal = refusal;
    }

    @Override
    public Table createTable(Identifier table, TableInfo definition) {
        throw readOnly();
    }

    @Override
    public Table alterTable(Identifier table, TableChange... changes) {
        throw readOnly();
    }

    @Override
    public boolean dropTable(Identifier table) {
        throw readOnly();
    }

    @Override
    public void renameTable(Identifier from, Identifier to) {
        throw readOnly();
    }

    @Override
    public void createNamespace(String[] database, Map<String, String> properties) {
        throw readOnly();
    }

    @Override
    public void alterNamespace(String[] database, NamespaceChange... changes) {
        throw readOnly();
    }

    @Override
    public boolean dropNamespace(String[] database, boolean cascade) {
        throw readOnly();
    }

    private UnsupportedOperationException readOnly() {
        return new UnsupportedOperationException(refusal);
    }
}
